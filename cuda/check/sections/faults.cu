/*
 * faults.cu
 *		Every operation of the library, failed on purpose at every place where it can.
 *
 * The k-th launch (or allocation) of an operation is made to fail, for k = 0, 1, 2 and so on until the
 * operation has no k-th one.  Each time it must return a failure with a message, write nothing outside of its
 * buffers, and leave nothing behind: the operation must be right when it is done again, and all device memory
 * must be back at the end.
 */
#include <algorithm>

#include "base/status.h"
#include "check/cases/fixed.h"
#include "check/cases/rows.h"
#include "check/cases/strings.h"
#include "fixed/prefix_codes.h"

/* More checks in one operation than this are taken for an endless loop. */
#define MAX_FAULTS 20000

/* An operation that can be made ready, done, and proved, any number of times. */
class FaultTarget
{
public:
	virtual ~FaultTarget() = default;

	virtual bool prepare(Why *why) = 0;
	virtual DevSortStatus perform() = 0;
	virtual bool prove(Why *why) = 0;

	/* After a failure. */
	virtual bool unharmed(Why *why) = 0;
};

/* A sort or gather as the other sections run it: what they make ready, do and prove. */
template <typename Runner, typename Case, bool (*prepare_case)(Runner *, const Case *, Why *),
		  DevSortStatus (*perform_case)(Runner *), bool (*prove_case)(Runner *, Why *)>
class CaseTarget : public FaultTarget
{
public:
	explicit CaseTarget(const Case &given) : given(given)
	{
	}

	bool prepare(Why *why) override
	{
		return prepare_case(&runner, &given, why);
	}

	DevSortStatus perform() override
	{
		return perform_case(&runner);
	}

	bool prove(Why *why) override
	{
		return prove_case(&runner, why);
	}

	bool unharmed(Why *why) override
	{
		return guarded_intact(&runner.guarded, why);
	}

protected:
	Runner runner = {}; /* released by who inherits it */

private:
	Case given;
};

class FixedTarget : public CaseTarget<FixedRunner, FixedCase, fixed_prepare, fixed_sort, fixed_prove>
{
public:
	using CaseTarget::CaseTarget;

	~FixedTarget() override
	{
		fixed_release(&runner);
	}
};

class StringsTarget
	: public CaseTarget<StringsRunner, StringsCase, strings_prepare, strings_sort, strings_prove>
{
public:
	using CaseTarget::CaseTarget;

	~StringsTarget() override
	{
		guarded_release(&runner.guarded);
	}
};

class RowsTarget : public CaseTarget<RowsRunner, RowsCase, rows_prepare, rows_plan_and_gather, rows_prove>
{
public:
	using CaseTarget::CaseTarget;

	~RowsTarget() override
	{
		guarded_release(&runner.guarded);
	}
};

/* Creates, grows twice, destroys. */
class BufferTarget : public FaultTarget
{
public:
	bool prepare(Why *) override
	{
		return true;
	}

	DevSortStatus perform() override
	{
		DevSortBuffer *buffer = NULL;
		DevSortStatus status = devsort_buffer_create(&budget, (size_t) 1 << 30, &buffer);

		if (status.code == DEVSORT_OK)
			status = devsort_buffer_grow(buffer, (size_t) 5 << 20);
		if (status.code == DEVSORT_OK)
			status = devsort_buffer_grow(buffer, (size_t) 50 << 20);
		devsort_buffer_destroy(buffer);
		return status;
	}

	bool prove(Why *why) override
	{
		return unharmed(why);
	}

	bool unharmed(Why *why) override
	{
		return budget.used == 0 || why_say(why, "%zu bytes of the budget are still used", budget.used);
	}

private:
	DevSortBudget budget = {SIZE_MAX, 0};
};

/* Asks about the devices. */
class DevicesTarget : public FaultTarget
{
public:
	bool prepare(Why *) override
	{
		return true;
	}

	DevSortStatus perform() override
	{
		DevSortDevice device;
		int count;
		DevSortStatus status = devsort_device_count(&count);

		return status.code == DEVSORT_OK ? devsort_device_describe(0, &device) : status;
	}

	bool prove(Why *) override
	{
		return true;
	}

	bool unharmed(Why *) override
	{
		return true;
	}
};

static bool
run_unharmed(FaultTarget *target, Why *why)
{
	return target->prepare(why) && why_status(why, target->perform(), "without a fault") &&
		   target->prove(why);
}

/* Was the armed fault still to come?  Disarms it. */
static bool
fault_is_left(DevSortFault fault, int countdown)
{
	bool left = false;

	for (int i = 0; i <= countdown && !left; i++)
		left = fault_strikes(fault);
	devsort_fault_arm(fault, -1);
	return left;
}

/* One fault.  *end is set if the operation has no k-th place to fail at. */
static bool
run_fault(FaultTarget *target, DevSortFault fault, int k, bool *end, Why *why)
{
	DevSortStatus status;
	bool left;

	*end = false;
	if (!target->prepare(why))
		return false;
	devsort_fault_arm(fault, k);
	status = target->perform();
	left = fault_is_left(fault, k);
	if (left)
	{
		*end = true;
		return why_status(why, status, "with a fault that is still to come") && target->prove(why);
	}
	return why_failure(why, status,
					   fault == DEVSORT_FAULT_MEMORY ? (int) DEVSORT_OUT_OF_MEMORY
													 : (int) DEVSORT_DEVICE_FAILED,
					   "with a fault") &&
		   why_cuda(why, cudaDeviceSynchronize(), "waiting after a fault") && target->unharmed(why) &&
		   run_unharmed(target, why);
}

/* All faults of a kind; those of the first `all`, then more and more of them left out. */
static void
run_faults(Check *check, FaultTarget *target, DevSortFault fault, const char *name, int all)
{
	const char *kind = fault == DEVSORT_FAULT_MEMORY ? "allocation" : "launch";
	Why why = {};
	bool end = false;
	bool passed = run_unharmed(target, &why);
	size_t before = device_free_bytes();

	for (int k = 0; passed && !end; k += k < all ? 1 : k / 8 + 1)
	{
		passed = run_fault(target, fault, k, &end, &why);
		if (passed && k > MAX_FAULTS)
			passed = why_say(&why, "no end of faults");
		check_case(check, passed, &why, "%s, %s %d fails", name, kind, k);
	}
	passed = passed && device_memory_is_back(before, &why);
	check_case(check, passed, &why, "%s, %s faults", name, kind);
}

static void
run_target(Check *check, FaultTarget *target, const char *name)
{
	int all = check->options.quick ? 8 : 64;

	if (!check_group_begin(check, "faults: %s", name))
		return;
	run_faults(check, target, DEVSORT_FAULT_LAUNCH, name, all);
	run_faults(check, target, DEVSORT_FAULT_MEMORY, name, all);
	check_group_end(check);
}

static void
check_fixed_faults(Check *check, uint64_t n)
{
	const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX};
	const int widths[] = {4, 8, 16, 24, 32};

	for (DevSortAlgorithm algorithm : algorithms)
	{
		for (int width : widths)
		{
			FixedCase fixed = {algorithm,
							   width,
							   width % 3 ? DEVSORT_KEY_BYTES : DEVSORT_KEY_WORDS,
							   PAYLOAD_IMPLICIT,
							   width > 8 ? SHARED_PREFIX : UNIFORM,
							   n,
							   check_random(check) >> 16,
							   0};
			FixedTarget target(fixed);

			if (check_wants(check, algorithm, width, -1))
				run_target(check, &target, fixed_name(&fixed).text);
		}
	}
}

/* Wide keys that begin alike, some of which tie nevertheless. */
static void
check_prefix_faults(Check *check, uint64_t n)
{
	const PrefixRareWays usual = prefix_rare_ways;
	FixedCase fixed = {DEVSORT_SAMPLE, 32, DEVSORT_KEY_BYTES,		  PAYLOAD_GIVEN,
					   EXTREMES,	   n,  check_random(check) >> 16, 0};
	FixedTarget target(fixed);

	prefix_rare_ways.least_rows = 1;
	if (check_wants(check, DEVSORT_SAMPLE, 32, -1))
		run_target(check, &target, fixed_name(&fixed).text);
	prefix_rare_ways = usual;
}

static void
check_strings_faults(Check *check, uint64_t n)
{
	const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX};

	for (DevSortAlgorithm algorithm : algorithms)
	{
		StringsCase strings = {algorithm, STRINGS_SHARED_PREFIX, n, 40, 3, check_random(check) >> 16};
		StringsTarget target(strings);
		Why name;

		why_say(&name, "strings, %s, n %llu, seed %llu", algorithm_name(algorithm), (unsigned long long) n,
				(unsigned long long) strings.seed);
		if (check_wants(check, algorithm, 0, -1))
			run_target(check, &target, name.text);
	}
}

void
check_faults(Check *check)
{
	uint64_t n = check->options.has_n ? check->options.n : 100000;
	RowsCase rows_case = {ROWS_NARROW, ROWS_SHUFFLED, std::min<uint64_t>(n, 20000), 1 << 20,
						  check_random(check) >> 16};
	RowsTarget rows(rows_case);
	BufferTarget buffer;
	DevicesTarget devices;

	check_fixed_faults(check, n);
	check_prefix_faults(check, n);
	check_strings_faults(check, std::min<uint64_t>(n, 20000));
	run_target(check, &rows, "rows");
	run_target(check, &buffer, "buffer");
	run_target(check, &devices, "devices");
}
