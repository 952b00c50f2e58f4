package io.klog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The list of appends to many logs as the library takes it. */
final class PackedItems {
    /** What no status is: the library did not come to write it. */
    private static final int UNWRITTEN = -1;

    private PackedItems() {
    }

    static List<AppendOutcome> append(long manager, List<AppendItem> items, AppendOptions options) {
        Frame frame = Frame.take();
        try {
            long in = AppendOptions.inOfMany(frame, options);
            DirectBuffer list = frame.bulk(Math.max(1, items.size()) * Layout.PACKED_ITEM_SIZE);
            for (int i = 0; i < items.size(); i++) {
                put(list.bytes, i * Layout.PACKED_ITEM_SIZE, items.get(i));
            }
            int status = Library.calls().appendManyPacked(manager, list.address, items.size(), in, frame.error());
            for (AppendItem item : items) {
                Reachability.fence(item.batch.packed().bytes);
            }
            if (status != 0 && (items.isEmpty() || statusOf(list.bytes, 0) == UNWRITTEN)) {
                frame.check(status);
            }
            // What the error says is of the first that failed.
            boolean told = false;
            List<AppendOutcome> outcomes = new ArrayList<>(items.size());
            for (int i = 0; i < items.size(); i++) {
                int at = i * Layout.PACKED_ITEM_SIZE;
                int of = statusOf(list.bytes, at);
                KlogException failure = of == 0 ? null : told ? Failure.of(of) : Failure.of(of, frame);
                told |= of != 0;
                outcomes.add(new AppendOutcome(list.bytes.getLong(at + Layout.PACKED_ITEM_FIRST_OFFSET),
                        list.bytes.getLong(at + Layout.PACKED_ITEM_LAST_OFFSET),
                        list.bytes.getLong(at + Layout.PACKED_ITEM_LOG_APPEND_TIME_MS), failure));
            }
            return outcomes;
        } finally {
            frame.give();
        }
    }

    private static void put(ByteBuffer list, int at, AppendItem item) {
        for (int i = 0; i < Layout.PACKED_ITEM_SIZE; i += 8) {
            list.putLong(at + i, 0);
        }
        list.putLong(at + Layout.PACKED_ITEM_LOG, item.log.id());
        list.putLong(at + Layout.PACKED_ITEM_PACKED, item.batch.packed().address);
        list.putLong(at + Layout.PACKED_ITEM_LEN, item.batch.sizeInBytes());
        list.putInt(at + Layout.PACKED_ITEM_STATUS, UNWRITTEN);
    }

    private static int statusOf(ByteBuffer list, int at) {
        return list.getInt(at + Layout.PACKED_ITEM_STATUS);
    }
}
