/*
 * Numbers as decimal text, two digits at a time, because responses contain hundreds of thousands of
 * numbers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DECIMAL_SIZE 20 /* the longest there is, with its sign */

/* How many digits it has. */
static inline unsigned decimal_digits(uint64_t value)
{
	static const uint64_t powers[] = {0,
					  10,
					  100,
					  1000,
					  10000,
					  100000,
					  1000000,
					  10000000,
					  100000000,
					  1000000000,
					  10000000000,
					  100000000000,
					  1000000000000,
					  10000000000000,
					  100000000000000,
					  1000000000000000,
					  10000000000000000,
					  100000000000000000,
					  1000000000000000000,
					  10000000000000000000u};
	/* 1233 / 4096 is a little more than the logarithm of 2. */
	unsigned guess = (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12;

	return guess + (value >= powers[guess]);
}

static inline char *decimal_u64(char *at, uint64_t value)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	char *end = at + decimal_digits(value), *digit = end;

	while (value >= 100) {
		digit -= 2;
		memcpy(digit, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(at, pairs + value * 2, 2);
	else
		*at = (char)('0' + value);
	return end;
}

/* Writes at most DECIMAL_SIZE bytes and returns the end of the text. */
static inline char *decimal_i64(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return decimal_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}
