/*
 * oracle.h
 *		Proofs, on the host, that a sort's result is right.
 *
 * The oracle does not sort: that the rows are a permutation, that every row's key is the one it came with,
 * and that the keys rise, is all there is to prove, and is linear.  Large inputs are looked at by several
 * threads.
 */
#ifndef CHECK_ORACLE_H
#define CHECK_ORACLE_H

#include "check/harness/check.h"

/*
 * The payload of row i is i * multiplier + offset (modulo 2^32), with an odd multiplier: any 32 bits, and
 * still a name of the row.
 */
typedef struct PayloadRule
{
	uint32_t multiplier;
	uint32_t offset;
} PayloadRule;

typedef struct FixedResult
{
	DevSortKeyFormat format;
	int key_bytes;
	uint64_t n;
	const void *keys; /* as they were before */
	const void *sorted_keys;
	const uint32_t *sorted_payloads; /* NULL: keys alone were sorted */
	PayloadRule rule;
} FixedResult;

bool oracle_check_fixed(const FixedResult *result, Why *why);

typedef struct StringsResult
{
	uint64_t n;
	const uint8_t *bytes;
	const uint64_t *offsets; /* n + 1 */
	const uint32_t *sorted_indexes;
} StringsResult;

bool oracle_check_strings(const StringsResult *result, Why *why);

#endif /* CHECK_ORACLE_H */
