/** What can go wrong, a class each, named as in Kafka where Kafka has it. All are {@link io.klog.KlogException}s. */
package io.klog.errors;
