// Two functions with known shares of the time, in several goroutines that come and go:
//
//	go_shares SECONDS
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

var sink uint64

//go:noinline
func churn(x uint64, rounds int) uint64 {
	for i := 0; i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func workMost(x uint64) uint64 { return churn(x, 70000) + 1 }

//go:noinline
func workSome(x uint64) uint64 { return churn(x, 30000) + 1 }

// Processor time of this thread: CLOCK_THREAD_CPUTIME_ID.
func cpu() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func descend(depth int, spent *[2]int64) uint64 {
	var room [64]byte
	room[depth%64] = byte(depth)
	if depth > 0 {
		return descend(depth-1, spent) + uint64(room[depth%64])
	}
	a := cpu()
	x := workMost(uint64(a))
	b := cpu()
	x += workSome(x)
	spent[0] += b - a
	spent[1] += cpu() - b
	return x
}

func worker(seconds float64, spent *[2]int64, done *sync.WaitGroup) {
	runtime.LockOSThread()
	for end := cpu() + int64(seconds*1e9); cpu() < end; {
		sink += descend(20, spent)
	}
	done.Done()
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	var all [2]int64
	for i := 0; i < 3; i++ {
		var done sync.WaitGroup
		var spent [2]int64
		done.Add(1)
		go worker(seconds/3, &spent, &done)
		done.Wait()
		all[0] += spent[0]
		all[1] += spent[1]
	}
	fmt.Printf("{\"main.workMost\": %d, \"main.workSome\": %d}\n", all[0], all[1])
}
