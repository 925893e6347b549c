/* Spins under so many frames (first argument): its samples fill a ring soon. Until it is killed. */
#include <stdlib.h>

static volatile unsigned long counter;

__attribute__((noinline)) static void spin(void)
{
	for (;;)
		counter++;
}

__attribute__((noinline)) static unsigned long deeper(long n)
{
	if (n <= 0)
		spin();
	/* Not the last call: there is a frame for each. */
	return deeper(n - 1) + counter;
}

int main(int count, char **arguments)
{
	return (int)deeper(count > 1 ? atol(arguments[1]) : 0);
}
