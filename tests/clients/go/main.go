// A busy program under the official Go SDK of Pyroscope: functions with a known share of the CPU
// time, memory that is kept, a lock that is fought over.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/grafana/pyroscope-go"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "go client:", err)
		os.Exit(1)
	}
}

func threadNs() int64 {
	const clockThreadCPU = 3
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

var sink uint64

//go:noinline
func burn(rounds int) {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink += x
}

//go:noinline
func heavy(rounds int) { burn(rounds); sink++ }

//go:noinline
func light(rounds int) { burn(rounds); sink += 2 }

var kept [][]byte

//go:noinline
func hoard() { kept = append(kept, make([]byte, 1<<20)) }

func contend(done chan struct{}) {
	var lock sync.Mutex
	for range 2 {
		go func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				lock.Lock()
				time.Sleep(2 * time.Millisecond)
				lock.Unlock()
			}
		}()
	}
}

// work takes slices of any length from none, so that they cannot keep step with the profiler's clock.
func work(seconds float64) (heavyNs, lightNs int64) {
	runtime.LockOSThread()
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		begin := threadNs()
		heavy(1 + rand.Intn(9_000_000))
		middle := threadNs()
		light(1 + rand.Intn(3_000_000))
		heavyNs += middle - begin
		lightNs += threadNs() - middle
		if len(kept) < 64 {
			hoard()
		}
	}
	return
}

func main() {
	runtime.MemProfileRate = 64 << 10
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: os.Getenv("CLIENT_SERVICE"),
		ServerAddress:   os.Getenv("CLIENT_SERVER"),
		Tags:            map[string]string{"region": "north"},
		UploadRate:      4 * time.Second,
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileInuseObjects, pyroscope.ProfileAllocObjects,
			pyroscope.ProfileInuseSpace, pyroscope.ProfileAllocSpace, pyroscope.ProfileGoroutines,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	check(err)
	done := make(chan struct{})
	contend(done)
	seconds, err := strconv.ParseFloat(os.Getenv("CLIENT_SECONDS"), 64)
	check(err)
	heavyNs, lightNs := work(seconds)
	close(done)
	check(profiler.Stop())
	fmt.Printf("{\"heavy\": %d, \"light\": %d, \"kept\": %d}\n", heavyNs, lightNs, len(kept)<<20)
}
