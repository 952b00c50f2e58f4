package io.klog;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** What happens in a manager, in order, from its opening on. Any thread may poll. */
public final class EventStream implements AutoCloseable {
    private static final int BUFFER_BYTES = 16 << 10;

    private final Handle handle;

    EventStream(Handle.Children siblings, long id) {
        handle = new Handle(this, id, siblings, events -> Library.calls().eventsClose(events));
    }

    /**
     * Takes events out of the stream, the oldest first, without waiting.
     *
     * @return those that there are; none if nothing happened
     */
    public List<KlogEvent> poll() {
        Frame frame = Frame.take();
        try {
            DirectBuffer buffer = frame.bulk(BUFFER_BYTES);
            for (;;) {
                int status = Library.calls().eventsPoll(
                        handle.id, buffer.address, buffer.capacity(), frame.number(), 0, 0, frame.error());
                if (status == Status.TIMED_OUT.code()) {
                    return new ArrayList<>();
                }
                if (status == Status.BUFFER_TOO_SMALL.code()) {
                    buffer = frame.bulk(DirectBuffer.grown(buffer.capacity(), frame.errorLong(Layout.ERROR_POSITION)));
                    continue;
                }
                frame.check(status);
                return events(buffer, frame.numberValue());
            }
        } finally {
            frame.give();
        }
    }

    private static List<KlogEvent> events(DirectBuffer buffer, long count) {
        int end = 0;
        while (buffer.bytes.get(end) != 0) {
            end++;
        }
        byte[] text = new byte[end];
        buffer.bytes.duplicate().get(text);
        List<KlogEvent> events = new ArrayList<>((int) count);
        for (String[] f : Lines.of(new String(text, StandardCharsets.UTF_8))) {
            EventType type = EventType.of(f[0]);
            events.add(new KlogEvent(type, Lines.number(f[1]), f[2], Lines.partition(f[3]), f[4], Lines.number(f[5]),
                    Lines.number(f[6]), Lines.number(f[7]), f[8]));
        }
        return events;
    }

    /** Ends the stream. */
    @Override
    public void close() {
        handle.close();
    }
}
