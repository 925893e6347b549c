/* many_threads COUNT: so many threads at the same time, each with something allocated. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_there;

static void *run(void *unused)
{
	void *p = malloc(1000);

	pthread_barrier_wait(&all_there);
	free(p);
	return unused;
}

int main(int argc, char **argv)
{
	int count = atoi(argc > 1 ? argv[1] : "100");
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, run, NULL)) {
			perror("pthread_create");
			exit(2);
		}
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", count);
	return 0;
}
