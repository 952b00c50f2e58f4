/**
 * Apache Kafka's log as a library: opens Kafka log directories in this process, without a broker.
 *
 * <p>{@link io.klog.KlogManager} opens directories, {@link io.klog.KlogLog} is one partition, {@link io.klog.Cursor} reads
 * records, {@link io.klog.RecordBatchBuilder} gathers what is appended together. All failures are
 * {@link io.klog.KlogException}s.
 *
 * <p>Managers, logs and cancel tokens may be used by any thread, also at once with their close; a cursor and a builder by one
 * thread at a time. Using what is closed throws {@link io.klog.errors.KlogClosedException}, and closing twice does nothing.
 *
 * <p>Calls run in the native library, over JNI below Java 22 and over java.lang.foreign from there on; {@link io.klog.Klog}
 * tells which. System properties: {@code klog.backend} ({@code jni}, {@code ffm}, {@code auto}), {@code klog.library} (the
 * native library as a file), {@code klog.library.system=true} (the one on java.library.path), {@code klog.cache.dir} (where
 * the jar's library is put as a file), {@code klog.debug=true} (a cursor spoils what it lent before it goes on, so that tests
 * find uses of it).
 */
package io.klog;
