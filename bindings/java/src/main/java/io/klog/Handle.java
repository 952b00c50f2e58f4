package io.klog;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A handle of the library, and the object of Java's that has it. It is closed once, by the object or with its manager.
 *
 * <p>Where the garbage collector takes an object whose handle is open that is an alarm: it is counted, and the first one is
 * logged. Nothing is closed then: a program whose logs close whenever the collector runs would be worse off.
 */
final class Handle extends PhantomReference<Object> {
    private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();
    /** All that are open: a phantom reference has to be reachable to be told of. */
    private static final Set<Handle> OPEN = ConcurrentHashMap.newKeySet();
    private static final AtomicLong LEAKED = new AtomicLong();

    final long id;
    private final String what;
    private final Children parent;
    private final LongConsumer closer;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** With klog.debug, where it was opened. */
    private final Throwable opened;

    /** The handles that end with a manager. */
    static final class Children {
        private final Set<Handle> open = ConcurrentHashMap.newKeySet();
        private volatile boolean over;

        /** Closes those that are open, and what is opened later at once. */
        void close() {
            over = true;
            for (Handle child : open) {
                child.close();
            }
        }
    }

    /** Of an object; parent may be null. The closer is called once, with the id. */
    Handle(Object owner, long id, Children parent, LongConsumer closer) {
        super(owner, COLLECTED);
        this.id = id;
        this.what = owner.getClass().getSimpleName();
        this.parent = parent;
        this.closer = closer;
        opened = Klog.DEBUG ? new Throwable(what + " was opened here") : null;
        leaked();
        OPEN.add(this);
        if (parent != null) {
            parent.open.add(this);
            if (parent.over) {
                close();
            }
        }
    }

    boolean isClosed() {
        return closed.get();
    }

    /** False if it was closed before. */
    boolean close() {
        if (!closed.compareAndSet(false, true)) {
            return false;
        }
        OPEN.remove(this);
        if (parent != null) {
            parent.open.remove(this);
        }
        clear();
        closer.accept(id);
        return true;
    }

    /** How many were collected open by now. */
    static long leaked() {
        for (Reference<?> next = COLLECTED.poll(); next != null; next = COLLECTED.poll()) {
            Handle handle = (Handle) next;
            if (OPEN.remove(handle) && LEAKED.incrementAndGet() == 1) {
                Logger.getLogger("io.klog").log(Level.WARNING, "a " + handle.what + " was not closed before it was collected; "
                        + (handle.opened == null ? "-Dklog.debug=true tells where it was opened; " : "")
                        + "further ones are only counted (Klog.leaks())", handle.opened);
            }
        }
        return LEAKED.get();
    }

    /** Begins to count anew, for tests of the alarm itself. */
    static void forgetLeaks() {
        leaked();
        LEAKED.set(0);
    }
}
