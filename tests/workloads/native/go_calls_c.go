// Go that calls C, which runs on the thread's stack while the caller waits on the goroutine's.
//
//	go_calls_c SECONDS
package main

/*
#include <stdint.h>

__attribute__((noinline)) uint64_t burn_in_c(uint64_t n)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum;
}
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

//go:noinline
func callC(n uint64) uint64 {
	return uint64(C.burn_in_c(C.uint64_t(n)))
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		callC(2000000)
	}
}
