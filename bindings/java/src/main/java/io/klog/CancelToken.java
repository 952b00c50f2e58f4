package io.klog;

/**
 * Ends long calls from another thread: those that were given it answer {@link io.klog.errors.KlogCancelledException} soon
 * after {@link #cancel()}, and at once if it came before. What they had done by then stays.
 */
public final class CancelToken implements AutoCloseable {
    private final Handle handle;

    /** Makes a token that no call carries yet. */
    public CancelToken() {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().cancelCreate(frame.number(), frame.error()));
            handle = new Handle(this, frame.numberValue(), null, id -> Library.calls().cancelClose(id));
        } finally {
            frame.give();
        }
    }

    /** Ends the calls that carry the token, those that run and those to come. Any thread may. */
    public void cancel() {
        Frame.checkPlain(Library.calls().cancelFire(handle.id));
    }

    /** Gives the token up. Calls that carry it go on. */
    @Override
    public void close() {
        handle.close();
    }

    static long id(CancelToken token) {
        return token == null ? 0 : token.handle.id;
    }
}
