package io.klog;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.file.Paths;

/**
 * The functions of klog.h over java.lang.foreign. Handles and pointers are declared as 64-bit numbers: the calling
 * conventions pass a struct of one such number, and a pointer, as the number itself.
 */
final class FfmBackend extends FfmFunctions {
    /** Set before functions are bound, which happens once. */
    private static volatile SymbolLookup lookup;

    private FfmBackend() {
    }

    /** Whether this class is the one that can call. */
    static boolean isAvailable() {
        return true;
    }

    /** Loads the library and binds its functions. */
    static Backend open(String path) {
        // Never unloaded: threads of the library may run until the process ends.
        return open(SymbolLookup.libraryLookup(Paths.get(path), Arena.global()));
    }

    /** As open, with the file that java.library.path leads to. */
    static Backend openSystem(String library) {
        System.loadLibrary(library);
        return open(SymbolLookup.loaderLookup());
    }

    private static Backend open(SymbolLookup library) {
        lookup = library;
        Backend calls = new FfmBackend();
        calls.versionNumber();
        return calls;
    }

    @Override
    public String name() {
        return "ffm";
    }

    @Override
    public long address(ByteBuffer direct) {
        ByteBuffer whole = direct.duplicate();
        whole.clear();
        return MemorySegment.ofBuffer(whole).address();
    }

    @Override
    public String text(long address) {
        return address == 0 ? null : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
    }

    @Override
    public int readInto(long log, long startOffset, long opts, ByteBuffer direct, long out, long err) {
        try {
            return (int) OfSegments.READ.invokeExact(log, startOffset, opts, MemorySegment.ofBuffer(direct),
                    (long) direct.remaining(), out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int appendFrom(long log, ByteBuffer direct, long opts, long out, long err) {
        try {
            return (int) OfSegments.APPEND_BATCHES.invokeExact(log, MemorySegment.ofBuffer(direct),
                    (long) direct.remaining(), opts, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public boolean pins() {
        return true;
    }

    @Override
    public Pinned pin(long address, long length) {
        return new ArenaPinned(address, length);
    }

    /** Those that take memory of the caller's as a segment, which keeps its arena open during the call. */
    private static final class OfSegments {
        static final MethodHandle READ = bind("klog_read", "IJJJAJJJ");
        static final MethodHandle APPEND_BATCHES = bind("klog_append_batches", "IJAJJJJ");

        private OfSegments() {
        }
    }

    /**
     * What a call threw. klog's functions throw nothing: it is an error of the virtual machine, or what is wrong with a
     * segment, such as that its arena is another thread's.
     */
    static RuntimeException broken(Throwable failure) {
        if (failure instanceof RuntimeException) {
            return (RuntimeException) failure;
        }
        throw failure instanceof Error ? (Error) failure : new AssertionError(failure);
    }

    /** The signature is the answer's type, then those of the arguments: I, J, or A for a segment. */
    static MethodHandle bind(String function, String signature) {
        return bind(function, signature, new Linker.Option[0]);
    }

    /** For what neither waits nor takes locks: the garbage collector waits until such a call is over. */
    static MethodHandle quick(String function, String signature) {
        return bind(function, signature, Linker.Option.critical(false));
    }

    private static MethodHandle bind(String function, String signature, Linker.Option... options) {
        MemoryLayout[] arguments = new MemoryLayout[signature.length() - 1];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = layout(signature.charAt(i + 1));
        }
        MemorySegment address = lookup.find(function)
                .orElseThrow(() -> new UnsatisfiedLinkError("the library has no function " + function));
        return Linker.nativeLinker()
                .downcallHandle(address, FunctionDescriptor.of(layout(signature.charAt(0)), arguments), options);
    }

    private static MemoryLayout layout(char type) {
        return type == 'I' ? ValueLayout.JAVA_INT : type == 'J' ? ValueLayout.JAVA_LONG : ValueLayout.ADDRESS;
    }
}
