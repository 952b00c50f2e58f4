package io.klog;

/** A call of the library, with the memory that it needs, which is taken before and given back after it. */
interface Call {
    /** Makes the call, and gives its status. */
    int with(Backend calls, Frame frame);

    /** A call that gives nothing but its status. */
    static void run(Call call) {
        Frame frame = Frame.take();
        try {
            frame.check(call.with(Library.calls(), frame));
        } finally {
            frame.give();
        }
    }

    /** A call whose output is a number or a handle. */
    static long number(Call call) {
        Frame frame = Frame.take();
        try {
            frame.check(call.with(Library.calls(), frame));
            return frame.numberValue();
        } finally {
            frame.give();
        }
    }
}
