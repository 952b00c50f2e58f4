package io.klog;

/** Why one record of an append was refused. */
public final class RecordError {
    private final int recordIndex;
    private final int kafkaCode;

    RecordError(int recordIndex, int kafkaCode) {
        this.recordIndex = recordIndex;
        this.kafkaCode = kafkaCode;
    }

    /**
     * Its place among those that were to be appended.
     *
     * @return the index, from 0 on
     */
    public int recordIndex() {
        return recordIndex;
    }

    /**
     * Kafka's error code.
     *
     * @return the code of Kafka's protocol
     */
    public int kafkaCode() {
        return kafkaCode;
    }

    @Override
    public String toString() {
        return "record " + recordIndex + ": " + Library.calls().kafkaErrorName(kafkaCode);
    }
}
