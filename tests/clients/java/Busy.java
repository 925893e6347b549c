import io.pyroscope.http.Format;
import io.pyroscope.javaagent.EventType;
import io.pyroscope.javaagent.PyroscopeAgent;
import io.pyroscope.javaagent.config.Config;
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/** A busy program under the official Java agent of Pyroscope: functions with a known share of the CPU time. */
public class Busy {
	private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
	private static volatile long sink;

	static long burn(int rounds) {
		long x = rounds | 1;
		for (int i = 0; i < rounds; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		return x;
	}

	static void heavy(int rounds) {
		sink += burn(rounds) + 1;
	}

	static void light(int rounds) {
		sink += burn(rounds) + 2;
	}

	static byte[] allocate() {
		return new byte[1 << 18];
	}

	static long now() {
		return THREADS.getCurrentThreadCpuTime();
	}

	/** Slices of any length from none, so that they cannot keep step with the profiler's clock. */
	static long[] work(double seconds) {
		long[] ns = new long[2];
		ThreadLocalRandom random = ThreadLocalRandom.current();
		for (long end = System.nanoTime() + (long) (seconds * 1e9); System.nanoTime() < end;) {
			long begin = now();
			Pyroscope.LabelsWrapper.run(new LabelsSet("endpoint", "/heavy"), () -> heavy(1 + random.nextInt(9_000_000)));
			long middle = now();
			Pyroscope.LabelsWrapper.run(new LabelsSet("endpoint", "/light"), () -> light(1 + random.nextInt(3_000_000)));
			ns[0] += middle - begin;
			ns[1] += now() - middle;
			sink += allocate()[7];
		}
		return ns;
	}

	public static void main(String[] arguments) throws Exception {
		PyroscopeAgent.start(new Config.Builder()
			.setApplicationName(System.getenv("CLIENT_SERVICE"))
			.setServerAddress(System.getenv("CLIENT_SERVER"))
			.setProfilingEvent(EventType.ITIMER)
			.setProfilingAlloc("64k")
			.setProfilingLock("1ms")
			.setFormat(Format.JFR)
			.setUploadInterval(Duration.ofSeconds(4))
			.setLabels(Map.of("region", "north"))
			.build());
		long[] ns = work(Double.parseDouble(System.getenv("CLIENT_SECONDS")));
		// stop() throws the last window away: wait for it.
		Thread.sleep(5000);
		PyroscopeAgent.stop();
		System.out.println("{\"heavy\": " + ns[0] + ", \"light\": " + ns[1] + "}");
	}
}
