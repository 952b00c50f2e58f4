package org.slf4j.impl;

import io.klog.interop.LogCapture;
import org.slf4j.ILoggerFactory;
import org.slf4j.spi.LoggerFactoryBinder;

/**
 * Makes {@link LogCapture} the logging backend: slf4j 1.7 looks for a class of exactly this name. No other backend is
 * on the class path, so no configuration file is needed and nothing is ever printed to standard output.
 */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    /** The slf4j release that this binding follows; slf4j reads the field, it must not be a constant. */
    public static String REQUESTED_API_VERSION = "1.7";

    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    private StaticLoggerBinder() { }

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return LogCapture.FACTORY;
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return LogCapture.class.getName();
    }
}
