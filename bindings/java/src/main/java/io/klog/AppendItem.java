package io.klog;

import java.util.Objects;

/** One of the appends of {@link KlogManager#appendAll}. */
public final class AppendItem {
    final KlogLog log;
    final RecordBatchBuilder batch;

    /**
     * An append.
     *
     * @param log where to
     * @param batch the records of one batch; none is no error
     */
    public AppendItem(KlogLog log, RecordBatchBuilder batch) {
        this.log = Objects.requireNonNull(log, "log");
        this.batch = Objects.requireNonNull(batch, "batch");
    }
}
