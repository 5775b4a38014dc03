/*
 * regress/fuzz/fuzz.h
 *		What the targets of the fuzzer share: bytes that become a case, and how a case fails.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "postgres.h"

#include "base/pg_compat.h"

/* What is left of a case's bytes; when they are over, zeros follow. */
typedef struct FuzzInput
{
	const uint8 *at;
	const uint8 *end;
} FuzzInput;

static inline uint8
fuzz_byte(FuzzInput *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* A number of so many bytes, the lowest first. */
static inline uint64
fuzz_number(FuzzInput *input, int nbytes)
{
	uint64 number = 0;

	for (int i = 0; i < nbytes; i++)
		number |= (uint64) fuzz_byte(input) << (i * BITS_PER_BYTE);
	return number;
}

static inline Size
fuzz_left(const FuzzInput *input)
{
	return input->end - input->at;
}

/*
 * A target: prepare() is called once, in memory that stays, and run() for each case, in a memory context that
 * is reset after it.  What run() allocates elsewhere must not grow with the cases.
 */
typedef struct FuzzTarget
{
	const char *name;
	void (*prepare)(void);
	void (*run)(FuzzInput *input);
} FuzzTarget;

extern const FuzzTarget fuzz_keys;
extern const FuzzTarget fuzz_pages;

/* The case has found a fault.  Does not return. */
pg_noreturn extern void fuzz_fail(const char *format, ...) pg_attribute_printf(1, 2);

/* ---- values.c ---- */

/*
 * A value of the type, made of the next bytes.  An error says that they make none, in which case the input is
 * of no use.
 */
extern Datum fuzz_value(FuzzInput *input, Oid type);

#endif /* FUZZ_FUZZ_H */
