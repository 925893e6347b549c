// Writes its own profiles in the text form of /debug/pprof/*?debug=1 into the folder it is given.
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte

//go:noinline
func hold(n int) { kept = append(kept, make([]byte, n)) }

//go:noinline
func spin(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i ^ s
	}
	return s
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	var mutex sync.Mutex
	var done sync.WaitGroup
	for _, name := range []string{"one", "two", "three \"3\""} {
		done.Add(1)
		go pprof.Do(context.Background(), pprof.Labels("worker", name), func(context.Context) {
			for i := 0; i < 50; i++ {
				mutex.Lock()
				spin(200000)
				mutex.Unlock()
				runtime.Gosched()
			}
			done.Done()
			time.Sleep(time.Hour)
		})
	}
	done.Wait()
	for i := 0; i < 1000; i++ {
		hold(1 << (i % 16))
	}
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "threadcreate", "mutex", "block"} {
		f, err := os.Create(filepath.Join(os.Args[1], name+".txt"))
		if err != nil {
			panic(err)
		}
		if err := pprof.Lookup(name).WriteTo(f, 1); err != nil {
			panic(err)
		}
		f.Close()
	}
}
