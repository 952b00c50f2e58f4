package io.klog.interop;

/** A mistake in the request itself, so that nobody takes it for a refusal by Kafka. */
final class BadRequest extends RuntimeException {
    private static final long serialVersionUID = 1L;

    BadRequest(String message) {
        super(message);
    }
}
