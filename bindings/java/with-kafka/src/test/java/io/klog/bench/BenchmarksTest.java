package io.klog.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collection;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.TimeValue;

/** The benchmarks run, which says nothing of how fast. */
class BenchmarksTest {
    @ParameterizedTest
    @ValueSource(classes = {KlogBenchmark.class, KafkaBenchmark.class})
    void everyBenchmarkRuns(Class<?> work) throws RunnerException {
        Collection<RunResult> results = new Runner(Beside.options(work).forks(0).warmupIterations(0).measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(20)).shouldFailOnError(true).build()).run();
        assertEquals(4, results.size());
        for (RunResult result : results) {
            assertTrue(result.getPrimaryResult().getScore() > 0);
            assertTrue(result.getSecondaryResults().keySet().stream().anyMatch(name -> name.endsWith("gc.alloc.rate.norm")));
        }
    }
}
