// Goroutines that allocate, ask for the time, need more stack and wait for each other: Go's runtime
// does all that on the stacks of its threads, for the goroutine that asked.
//
//	go_crowd SECONDS
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

type node struct {
	next *node
	text string
}

var lock sync.Mutex

//go:noinline
func makeGarbage(n int) *node {
	var first *node
	for i := 0; i < n; i++ {
		first = &node{first, strconv.Itoa(i)}
	}
	return first
}

//go:noinline
func askForTime(n int) (sum int64) {
	for i := 0; i < n; i++ {
		sum += time.Now().UnixNano()
	}
	return sum
}

//go:noinline
func needStack(depth int) byte {
	var room [1000]byte
	room[depth%1000] = byte(depth)
	if depth > 0 {
		return room[depth%1000] + needStack(depth-1)
	}
	return 0
}

//go:noinline
func waitForLock() {
	lock.Lock()
	time.Sleep(100 * time.Microsecond)
	lock.Unlock()
}

func one(end time.Time, done *sync.WaitGroup) {
	defer done.Done()
	for time.Now().Before(end) {
		makeGarbage(2000)
		askForTime(2000)
		waitForLock()
		var short sync.WaitGroup
		short.Add(1)
		go func() { needStack(50); short.Done() }()
		short.Wait()
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var done sync.WaitGroup
	for i := 0; i < 8; i++ {
		done.Add(1)
		go one(end, &done)
	}
	done.Wait()
}
