/*
 * memory/huge_page_costs.c
 *		Do huge pages pay, on this machine and at this time?
 *
 * Mostly they do: 2 MB are cleared in 0.1 to 0.3 ms, where 512 small pages take 0.3 to 1, and later there are
 * fewer misses of the TLB.  But in a virtual machine that returns free memory to its host, the host has to
 * find memory for each again when it is first touched, which takes 5 ms and more (docs/decisions, 3).  And
 * where free memory is in pieces, the kernel may have to move much to have 2 MB of it.
 *
 * So a process counts what each of its huge pages took beside small ones.  As long as what was gained makes
 * up for the slow ones it goes on; once it doesn't, no process of the server asks for them for a while.
 */
#include "postgres.h"

#include "port/atomics.h"
#include "portability/instr_time.h"
#include "storage/shmem.h"

#include "memory/huge_page_costs.h"

/* What small pages take in place of a huge one, and what misses they cost later. */
#define SMALL_PAGES_MS 1.0

/* What may be lost before anything was gained, and what is remembered of gains at most. */
#define FIRST_BALANCE_MS 20.0
#define MOST_BALANCE_MS 30.0

/*
 * What counts of one time at most: in a longer one the process did not run, or waited for one that did not.
 */
#define MOST_LOST_MS 10.0

/* Huge pages that did not pay are tried again after so long. */
#define REST_US (30 * UINT64CONST(1000000))

/* The process's own, milliseconds. */
static double balance = FIRST_BALANCE_MS;

/* Until when none is asked for, by the clock of instr_time: in shared memory, or this process's own. */
static pg_atomic_uint64 own_rests_until;
static pg_atomic_uint64 *rests_until = &own_rests_until;

static uint64
clock_us(void)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

bool
huge_pages_pay(void)
{
	uint64 until = pg_atomic_read_u64(rests_until);

	return until == 0 || clock_us() > until;
}

void
huge_pages_note(int npages, double ms)
{
	balance = Min(balance + npages * SMALL_PAGES_MS - Min(ms, MOST_LOST_MS), MOST_BALANCE_MS);
	if (balance >= 0)
		return;
	balance = FIRST_BALANCE_MS;
	pg_atomic_write_u64(rests_until, clock_us() + REST_US);
}

Size
huge_page_costs_shmem_size(void)
{
	return sizeof(pg_atomic_uint64);
}

void
huge_page_costs_shmem_init(void)
{
	bool found;

	rests_until = ShmemInitStruct("gpusort huge pages", huge_page_costs_shmem_size(), &found);
	if (!found)
		pg_atomic_init_u64(rests_until, 0);
}
