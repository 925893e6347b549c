// A program with one hot path, for profile-guided optimisation: mix is too costly to be inlined into
// total, and total into main, unless a profile says that they are hot. Its argument is the file for
// its CPU profile.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"sort"
	"time"
)

type shape interface{ area(n int) int }
type square struct{ side int }
type circle struct{ r int }

func (s square) area(n int) int { return s.side*s.side + n }
func (c circle) area(n int) int { return 3*c.r*c.r - n }

func mix(a, b int) int {
	x := a*31 + b
	for i := 0; i < 8; i++ {
		x ^= x << 3
		x += i * b
		if x%7 == 0 {
			x -= a
		}
		if x%5 == 1 {
			x ^= b
		}
	}
	x = x*17 + a%3
	x ^= x >> 5
	return x
}

func total(list []shape, n int) int {
	t := 0
	for i, s := range list {
		t += mix(s.area(n), i)
	}
	return t
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(f)
	var list []shape
	for i := 0; i < 1000; i++ {
		if i%50 == 0 {
			list = append(list, circle{i})
		} else {
			list = append(list, square{i})
		}
	}
	end := time.Now().Add(1500 * time.Millisecond)
	t := 0
	for time.Now().Before(end) {
		for i := 0; i < 200; i++ {
			t += total(list, i)
		}
		t += fib(18)
		v := []int{5, 3, 9, t % 7}
		sort.Ints(v)
	}
	pprof.StopCPUProfile()
	f.Close()
	fmt.Println(t)
}
