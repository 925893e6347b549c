import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Says of each of its threads what the JVM's own clocks say, as a line of JSON for each: CPU time, bytes
 * allocated, time blocked on monitors; and how long it ran and what it asked of malloc. For recordings
 * that are compared with it. Argument: how many seconds.
 */
public final class Truth {
	static final Object LOCK = new Object();
	static final List<Thread> THREADS = new ArrayList<>();
	static final CountDownLatch GO = new CountDownLatch(1), DONE = new CountDownLatch(1);
	static volatile long sink;
	static volatile boolean stop;
	static volatile Object kept;
	static volatile long malloced;

	static void spin() {
		long x = sink;
		while (!stop) {
			for (int i = 0; i < 10000; i++)
				x = x * 6364136223846793005L + 1442695040888963407L;
			sink = x;
		}
	}

	static void pause(long milliseconds) {
		try {
			Thread.sleep(milliseconds);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	static void sleep() {
		while (!stop)
			pause(50);
	}

	static void park() {
		while (!stop)
			LockSupport.parkNanos(LOCK, 40_000_000);
	}

	static void half() {
		while (!stop) {
			long until = System.nanoTime() + 5_000_000;
			while (System.nanoTime() < until)
				sink++;
			pause(15);
		}
	}

	static void allocate() {
		while (!stop) {
			for (int i = 0; i < 100; i++)
				kept = new byte[1000];
			pause(2);
		}
	}

	static void allocateOutside() {
		while (!stop) {
			for (int i = 0; i < 100; i++) {
				kept = ByteBuffer.allocateDirect(2000);
				malloced += 2000;
			}
			pause(5);
		}
	}

	static void contend() {
		while (!stop) {
			synchronized (LOCK) {
				pause(20);
			}
			pause(1);
		}
	}

	/** Blocked in read(2): the JVM calls such a thread runnable. */
	static void read() {
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		     Socket near = new Socket(server.getInetAddress(), server.getLocalPort());
		     Socket far = server.accept()) {
			near.setSoTimeout(200);
			while (!stop) {
				try {
					near.getInputStream().read();
				} catch (IOException e) {
					sink++;
				}
			}
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	static void start(String name, Runnable body) {
		Thread t = new Thread(() -> {
			try {
				GO.await();
				body.run();
				DONE.await();
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}, name);
		t.setDaemon(true);
		t.start();
		THREADS.add(t);
	}

	static void tell(long begin) {
		com.sun.management.ThreadMXBean threads =
			(com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
		com.sun.management.OperatingSystemMXBean system =
			(com.sun.management.OperatingSystemMXBean)
				ManagementFactory.getOperatingSystemMXBean();
		long elapsed = System.nanoTime() - begin;
		for (Thread t : THREADS)
			System.out.printf("{\"thread\":\"%s\",\"cpu_ns\":%d,\"allocated\":%d,\"blocked_ms\":%d}%n",
					t.getName(), threads.getThreadCpuTime(t.getId()),
					threads.getThreadAllocatedBytes(t.getId()),
					threads.getThreadInfo(t.getId()).getBlockedTime());
		System.out.printf("{\"process_cpu_ns\":%d,\"elapsed_ns\":%d,\"malloced\":%d}%n",
				system.getProcessCpuTime(), elapsed, malloced);
	}

	/** Until the first thread has run so long, where the machine is busy; half a minute at most. */
	static void waitForCpu(long nanoseconds) {
		java.lang.management.ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long end = System.nanoTime() + 30_000_000_000L;
		while (threads.getThreadCpuTime(THREADS.get(0).getId()) < nanoseconds &&
				System.nanoTime() < end)
			pause(20);
	}

	public static void main(String[] args) {
		double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
		ManagementFactory.getThreadMXBean().setThreadContentionMonitoringEnabled(true);
		start("spinner", Truth::spin);
		start("half", Truth::half);
		start("allocator", Truth::allocate);
		start("outside", Truth::allocateOutside);
		start("contender-1", Truth::contend);
		start("contender-2", Truth::contend);
		start("parker", Truth::park);
		start("reader", Truth::read);
		for (int i = 1; i <= 8; i++)
			start("sleeper-" + i, Truth::sleep);
		long begin = System.nanoTime();
		GO.countDown();
		pause((long) (seconds * 1000));
		waitForCpu((long) (seconds * 200_000_000));
		stop = true;
		pause(250);
		tell(begin);
		DONE.countDown();
	}
}
