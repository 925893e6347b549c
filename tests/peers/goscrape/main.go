// goscrape is a target to scrape, with net/http/pprof below a prefix and behind a token, whose
// counters grow by known amounts.
//
//	goscrape [ADDRESS]    print the address and serve until stdin ends
//
//	GET /step       allocate 1000 times 4096 bytes in keepBytes, wait 20 times for a lock in
//	                fightForLock and 10 times for a channel in waitForChannel
//	GET /inner/…    net/http/pprof, with "Authorization: Bearer secret"
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var kept [][]byte
var sink uint64

//go:noinline
func keepBytes() {
	for i := 0; i < 1000; i++ {
		kept = append(kept, make([]byte, 4096))
	}
}

//go:noinline
func fightForLock() {
	var m sync.Mutex
	for i := 0; i < 20; i++ {
		waiting := make(chan bool)
		done := make(chan bool)
		m.Lock()
		go func() {
			close(waiting)
			m.Lock()
			m.Unlock()
			close(done)
		}()
		<-waiting
		time.Sleep(2 * time.Millisecond)
		m.Unlock()
		<-done
	}
}

//go:noinline
func waitForChannel() {
	for i := 0; i < 10; i++ {
		c := make(chan bool)
		go func() {
			time.Sleep(time.Millisecond)
			close(c)
		}()
		<-c
	}
}

//go:noinline
func burn() {
	for {
		for i := uint64(0); i < 1000000; i++ {
			sink = sink*31 + i
		}
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func parked() {
	select {}
}

func step(w http.ResponseWriter, _ *http.Request) {
	keepBytes()
	fightForLock()
	waitForChannel()
	// The heap profile tells what was allocated before the last collection but one.
	runtime.GC()
	runtime.GC()
	fmt.Fprintln(w, "stepped")
}

func guarded(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h(w, r)
	}
}

func main() {
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/step", step)
	mux.HandleFunc("/inner/debug/pprof/profile", guarded(pprof.Profile))
	for _, name := range []string{"allocs", "block", "goroutine", "mutex"} {
		mux.HandleFunc("/inner/debug/pprof/"+name, guarded(pprof.Handler(name).ServeHTTP))
	}
	fmt.Println(l.Addr())
	go burn()
	for i := 0; i < 7; i++ {
		go parked()
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = http.Serve(l, mux)
}
