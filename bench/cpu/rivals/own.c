/*
 * own.c
 *		gpusort's own sorts beside their rivals.
 *
 * The server's processes are threads here, so that all contenders use the same kind of memory.  Keys are not
 * squeezed: all contenders sort the same words.
 */
#include "postgres.h"

#include <pthread.h>

#include "cpu/cpu_sort.h"
#include "cpu/rivals/own.h"
#include "sort/parallel_sort.h"
#include "sort/sample_sort.h"

#define PROCESSES_MAX 64

typedef struct JointSort
{
	ParallelSort *sort;
	pthread_barrier_t barrier;
} JointSort;

typedef struct Process
{
	JointSort *joint;
	int number;
} Process;

static void
wait_for_others(void *arg)
{
	(void) pthread_barrier_wait(arg);
}

static void *
run_process(void *arg)
{
	Process *process = arg;
	ParallelSortSync sync = {wait_for_others, &process->joint->barrier};

	parallel_sort_run(process->joint->sort, process->number, &sync);
	return NULL;
}

static ParallelSortInput
joint_input(const CaseInput *input, int threads)
{
	ParallelSortInput joint = {threads, input->first, input->n, false};

	key_squeeze_plan_identity(&joint.squeeze, input->nwords);
	return joint;
}

static void *
sort_jointly(const CaseInput *input, int threads, void *memory)
{
	ParallelSortInput joint_sort = joint_input(input, threads);
	pthread_t thread[PROCESSES_MAX];
	Process process[PROCESSES_MAX];
	JointSort joint = {parallel_sort_init(memory, &joint_sort)};

	pthread_barrier_init(&joint.barrier, NULL, threads);
	for (int p = 0; p < threads; p++)
	{
		process[p] = (Process){&joint, p};
		if (p > 0 && pthread_create(&thread[p], NULL, run_process, &process[p]) != 0)
			fail("can't start a thread", "gpusort", input->n, input->nwords);
	}
	run_process(&process[0]);
	for (int p = 1; p < threads; p++)
		pthread_join(thread[p], NULL);
	pthread_barrier_destroy(&joint.barrier);
	return parallel_sort_items(joint.sort);
}

Size
own_memory_size(const CaseInput *input, int threads)
{
	ParallelSortInput joint = joint_input(input, threads);

	if (threads == 1)
		return items_size(input->n);
	return parallel_sort_shared_size(false, parallel_sort_item(&joint), input->n, input->nchunks, threads);
}

void *
own_sort_chunks(const CaseInput *input, int threads, void *memory)
{
	KeySqueeze squeeze;

	if (threads > 1)
		return sort_jointly(input, threads, memory);
	key_squeeze_plan_identity(&squeeze, input->nwords);
	sample_sort_chunks(input->first, input->n, &squeeze, memory);
	return memory;
}

void
own_sort_items(const CaseInput *input, void *items)
{
	SampleSorter *sorter = sample_sorter_create(input->n, (SortItemKind){input->nwords, input->has_rows});

	sample_sorter_sort(sorter, items, input->n, 0);
	sample_sorter_free(sorter);
}
