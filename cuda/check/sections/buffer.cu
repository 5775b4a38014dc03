/*
 * buffer.cu
 *		Memory that grows: contents and addresses stay, the budget is kept, and what does not fit is reported.
 */
#include <vector>

#include "check/harness/check.h"

#define MEGABYTE ((size_t) 1024 * 1024)

static uint8_t
pattern_byte(size_t at)
{
	return (uint8_t) (at * 2654435761u >> 13);
}

/* Fills from .. to with the pattern. */
static bool
write_pattern(DevSortBuffer *buffer, size_t from, size_t to, Why *why)
{
	std::vector<uint8_t> bytes(to - from);

	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = pattern_byte(from + i);
	return why_cuda(why,
					cudaMemcpy((char *) devsort_buffer_address(buffer) + from, bytes.data(), bytes.size(),
							   cudaMemcpyHostToDevice),
					"writing to the buffer");
}

static bool
read_pattern(DevSortBuffer *buffer, size_t to, Why *why)
{
	std::vector<uint8_t> bytes(to);

	if (!why_cuda(why, cudaMemcpy(bytes.data(), devsort_buffer_address(buffer), to, cudaMemcpyDeviceToHost),
				  "reading from the buffer"))
		return false;
	for (size_t i = 0; i < to; i++)
	{
		if (bytes[i] != pattern_byte(i))
			return why_say(why, "byte %zu of the buffer has changed", i);
	}
	return true;
}

/* Is the buffer as large as wanted by the budget, which is its own, and still at `address`? */
static bool
buffer_is_sound(DevSortBuffer *buffer, const DevSortBudget *budget, size_t wanted, const void *address,
				Why *why)
{
	if (budget->used < wanted)
		return why_say(why, "%zu bytes are used, not the %zu asked for", budget->used, wanted);
	if (devsort_buffer_address(buffer) != address)
		return why_say(why, "the buffer has moved");
	if (budget->used > budget->limit)
		return why_say(why, "%zu bytes of a budget of %zu are used", budget->used, budget->limit);
	return true;
}

static bool
grow_in_steps(Check *check, DevSortBudget *budget, DevSortBuffer *buffer, Why *why)
{
	const void *address = devsort_buffer_address(buffer);
	size_t filled = 0;

	if (address == NULL)
		return why_say(why, "the buffer has no address");
	for (size_t wanted = 1; wanted < 200 * MEGABYTE; wanted = wanted * 3 + check_random_below(check, 1000))
	{
		if (!why_status(why, devsort_buffer_grow(buffer, wanted), "devsort_buffer_grow") ||
			!buffer_is_sound(buffer, budget, wanted, address, why) ||
			!write_pattern(buffer, filled, wanted, why) || !read_pattern(buffer, wanted, why))
			return false;
		filled = wanted;
	}
	/* Less than there is changes nothing. */
	return why_status(why, devsort_buffer_grow(buffer, 10), "devsort_buffer_grow to less") &&
		   buffer_is_sound(buffer, budget, filled, address, why) && read_pattern(buffer, filled, why);
}

static bool
check_steps(Check *check, Why *why)
{
	DevSortBudget budget = {1024 * MEGABYTE, 0};
	DevSortBuffer *buffer = NULL;
	bool passed;

	if (!why_status(why, devsort_buffer_create(&budget, 512 * MEGABYTE, &buffer), "devsort_buffer_create"))
		return false;
	if (budget.used > MEGABYTE)
		why_say(why, "addresses alone took %zu bytes of the budget", budget.used);
	passed = budget.used <= MEGABYTE && grow_in_steps(check, &budget, buffer, why);
	devsort_buffer_destroy(buffer);
	if (passed && budget.used != 0)
		return why_say(why, "%zu bytes of the budget are still used", budget.used);
	return passed;
}

/* A growth that must fail, with that code, and leave the buffer as it was. */
static bool
grow_too_far(DevSortBuffer *buffer, const DevSortBudget *budget, size_t bytes, int code, Why *why)
{
	size_t used = budget->used;
	void *address = devsort_buffer_address(buffer);

	if (!why_failure(why, devsort_buffer_grow(buffer, bytes), code, "devsort_buffer_grow"))
		return false;
	if (budget->used != used || devsort_buffer_address(buffer) != address)
		return why_say(why, "a growth that failed changed the buffer: used %zu, was %zu", budget->used, used);
	return true;
}

static bool
check_over_budget(Check *, Why *why)
{
	DevSortBudget budget = {64 * MEGABYTE, 0};
	DevSortBuffer *first = NULL;
	DevSortBuffer *second = NULL;
	bool passed;

	passed =
		why_status(why, devsort_buffer_create(&budget, 1024 * MEGABYTE, &first), "devsort_buffer_create") &&
		why_status(why, devsort_buffer_create(&budget, 1024 * MEGABYTE, &second), "devsort_buffer_create") &&
		why_status(why, devsort_buffer_grow(first, 20 * MEGABYTE), "devsort_buffer_grow") &&
		write_pattern(first, 0, 20 * MEGABYTE, why) &&
		grow_too_far(first, &budget, 512 * MEGABYTE, DEVSORT_OVER_BUDGET, why) &&
		read_pattern(first, 20 * MEGABYTE, why) &&
		why_status(why, devsort_buffer_grow(second, 24 * MEGABYTE), "second buffer") &&
		grow_too_far(second, &budget, 48 * MEGABYTE, DEVSORT_OVER_BUDGET, why) &&
		why_status(why, devsort_buffer_grow(first, 32 * MEGABYTE), "devsort_buffer_grow after a failure") &&
		write_pattern(first, 20 * MEGABYTE, 32 * MEGABYTE, why) && read_pattern(first, 32 * MEGABYTE, why) &&
		grow_too_far(first, &budget, 2048 * MEGABYTE, -1, why);
	devsort_buffer_destroy(first);
	devsort_buffer_destroy(second);
	if (passed && budget.used != 0)
		return why_say(why, "%zu bytes of the budget are still used", budget.used);
	return passed;
}

static bool
check_out_of_memory(Check *, Why *why)
{
	DevSortBudget budget = {SIZE_MAX, 0};
	DevSortBuffer *buffer = NULL;
	size_t free_bytes = device_free_bytes();
	bool passed;

	if (free_bytes == 0)
		return why_say(why, "the free memory is not known");
	passed =
		why_status(why, devsort_buffer_create(&budget, free_bytes + 4096 * MEGABYTE, &buffer),
				   "devsort_buffer_create") &&
		why_status(why, devsort_buffer_grow(buffer, 30 * MEGABYTE), "devsort_buffer_grow") &&
		write_pattern(buffer, 0, 30 * MEGABYTE, why) &&
		grow_too_far(buffer, &budget, free_bytes + 1024 * MEGABYTE, DEVSORT_OUT_OF_MEMORY, why) &&
		read_pattern(buffer, 30 * MEGABYTE, why) &&
		why_status(why, devsort_buffer_grow(buffer, 60 * MEGABYTE), "devsort_buffer_grow after a failure") &&
		write_pattern(buffer, 30 * MEGABYTE, 60 * MEGABYTE, why) && read_pattern(buffer, 60 * MEGABYTE, why);
	devsort_buffer_destroy(buffer);
	if (passed && budget.used != 0)
		return why_say(why, "%zu bytes of the budget are still used", budget.used);
	return passed;
}

static bool
check_nothing(Check *, Why *why)
{
	DevSortBudget budget = {64 * MEGABYTE, 0};
	DevSortBuffer *buffer = NULL;
	bool passed;

	devsort_buffer_destroy(NULL);
	passed =
		why_status(why, devsort_buffer_create(&budget, 10 * MEGABYTE, &buffer), "devsort_buffer_create") &&
		why_status(why, devsort_buffer_grow(buffer, 0), "devsort_buffer_grow to nothing");
	devsort_buffer_destroy(buffer);
	return passed;
}

static bool
check_many_buffers(Check *check, Why *why)
{
	DevSortBudget budget = {SIZE_MAX, 0};

	for (int i = 0; i < 50; i++)
	{
		DevSortBuffer *buffer = NULL;
		bool passed;

		passed = why_status(why, devsort_buffer_create(&budget, 1024 * MEGABYTE, &buffer),
							"devsort_buffer_create") &&
				 why_status(why, devsort_buffer_grow(buffer, 1 + check_random_below(check, 100 * MEGABYTE)),
							"devsort_buffer_grow");
		devsort_buffer_destroy(buffer);
		if (!passed)
			return false;
	}
	return budget.used == 0 || why_say(why, "%zu bytes of the budget are still used", budget.used);
}

typedef struct BufferCase
{
	const char *name;
	bool (*run)(Check *check, Why *why);
} BufferCase;

static const BufferCase buffer_cases[] = {
	{"growth in steps", check_steps},
	{"over the budget", check_over_budget},
	{"out of memory", check_out_of_memory},
	{"nothing", check_nothing},
	{"many, one after the other", check_many_buffers},
};

void
check_buffer(Check *check)
{
	for (const BufferCase &buffer_case : buffer_cases)
	{
		Why why = {};
		size_t before;
		bool passed;

		if (!check_group_begin(check, "buffer: %s", buffer_case.name))
			continue;
		passed = buffer_case.run(check, &why);
		check_case(check, passed, &why, "seed %llu", (unsigned long long) check->options.seed);
		before = device_free_bytes();
		passed = buffer_case.run(check, &why) && device_memory_is_back(before, &why);
		check_case(check, passed, &why, "a second time, seed %llu", (unsigned long long) check->options.seed);
		check_group_end(check);
	}
}
