// goprof makes real Go profiles with known content: work under labels, inlined functions,
// recursion, allocations that stay, locks that are fought over and channels that block.
//
//	goprof DIR                write cpu.pb.gz, heap.pb.gz, mutex.pb.gz, block.pb.gz,
//	                          goroutine.pb.gz, cpu2.pb.gz into DIR
//	goprof -serve             print an address and serve /debug/pprof there until stdin ends
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var sink uint64
var kept [][]byte

func mix(x uint64) uint64 { return x*0x9e3779b97f4a7c15 ^ x>>7 } // small enough to be inlined

func mixTwice(x uint64) uint64 { return mix(mix(x)) }

//go:noinline
func hashLoop(n int) uint64 {
	var h uint64 = 1
	for i := 0; i < n; i++ {
		h = mixTwice(h + uint64(i))
	}
	return h
}

//go:noinline
func fib(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func even(n int) uint64 {
	if n == 0 {
		return hashLoop(20000)
	}
	return odd(n - 1)
}

//go:noinline
func odd(n int) uint64 {
	if n == 0 {
		return hashLoop(10000)
	}
	return even(n - 1)
}

func work(ctx context.Context, until time.Time) {
	for time.Now().Before(until) {
		pprof.Do(ctx, pprof.Labels("endpoint", "/checkout", "password", "hunter2"), func(context.Context) {
			sink += hashLoop(200000)
		})
		pprof.Do(ctx, pprof.Labels("endpoint", "/search"), func(context.Context) {
			sink += fib(22)
			sink += even(40)
		})
		sink += uint64(len(fmt.Sprintf("%d %v", sink, until)))
	}
}

//go:noinline
func keepMemory() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, make([]byte, 4096))
	}
}

//go:noinline
func fightForLock() {
	var m sync.Mutex
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 50; k++ {
				m.Lock()
				time.Sleep(100 * time.Microsecond)
				m.Unlock()
			}
		}()
	}
	wg.Wait()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func cpuProfile(path string, d time.Duration) {
	f, err := os.Create(path)
	check(err)
	check(pprof.StartCPUProfile(f))
	work(context.Background(), time.Now().Add(d))
	pprof.StopCPUProfile()
	check(f.Close())
}

func lookup(dir, name string) {
	f, err := os.Create(filepath.Join(dir, name+".pb.gz"))
	check(err)
	check(pprof.Lookup(name).WriteTo(f, 0))
	check(f.Close())
}

func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(l.Addr())
	go func() {
		for {
			work(context.Background(), time.Now().Add(time.Second))
		}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	check(http.Serve(l, nil))
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		serve()
	}
	dir := os.Args[1]
	keepMemory()
	fightForLock()
	cpuProfile(filepath.Join(dir, "cpu.pb.gz"), 1500*time.Millisecond)
	cpuProfile(filepath.Join(dir, "cpu2.pb.gz"), 700*time.Millisecond)
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "mutex", "block", "goroutine"} {
		lookup(dir, name)
	}
}
