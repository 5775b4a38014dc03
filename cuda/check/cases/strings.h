/*
 * strings.h
 *		One sort of strings, from making them to the proof that the result is right.
 */
#ifndef CHECK_STRINGS_CASE_H
#define CHECK_STRINGS_CASE_H

#include <vector>

#include "check/proof/guarded.h"
#include "check/proof/oracle.h"

typedef enum StringsKind
{
	STRINGS_BINARY_LETTERS, /* random over {a, b} */
	STRINGS_ALL_BYTES,		/* random over all 256 bytes */
	STRINGS_ZEROS_AND_ONES, /* random over {0, 1}: the bytes, not the digits */
	STRINGS_MANY_EQUAL,		/* few different ones */
	STRINGS_SHARED_PREFIX,	/* few long prefixes, short random ends */
	STRINGS_PREFIXES,		/* each a prefix of the same string */
	STRINGS_ONE_LONG,		/* short ones, and one of 100 KB */
	STRINGS_ALL_EMPTY,
	STRINGS_ALL_EQUAL,
	STRINGS_ZERO_BYTES, /* nothing but zero bytes, of several lengths */
	STRINGS_LONG_TWINS, /* short ones, and some that agree in 20 KB: all of them, or all but the last bytes */
	STRINGS_RARE_BYTES, /* random over {b, d}, and so rarely other bytes that a sample lacks them */
	STRINGS_LATE_BYTES, /* one letter, and random letters behind what a sample looks at */
	STRINGS_GROUPS,		/* groups with a long prefix each, as large as the limits for finishing, and about */
	NSTRINGS_KINDS
} StringsKind;

typedef struct StringsCase
{
	DevSortAlgorithm algorithm;
	StringsKind kind;
	uint64_t n;
	int longest;	  /* bytes of a string, except the one long string */
	int misalignment; /* of the bytes: 0 to 7 */
	uint64_t seed;
} StringsCase;

/* What is kept from case to case. */
typedef struct StringsRunner
{
	Guarded guarded;
	StringsCase strings;
	DevSortStringsJob job;
	void *workspace;
	size_t workspace_bytes;
	int rounds;
	std::vector<uint8_t> bytes;
	std::vector<uint64_t> offsets;
	std::vector<uint32_t> sorted_indexes;
} StringsRunner;

/* Sorts and proves. */
bool strings_run(StringsRunner *runner, const StringsCase *strings, Why *why);

/* The three steps of a run, for tests in which the second one fails. */
bool strings_prepare(StringsRunner *runner, const StringsCase *strings, Why *why);
DevSortStatus strings_sort(StringsRunner *runner);
bool strings_prove(StringsRunner *runner, Why *why);

/* Runs it and counts it in the group. */
void strings_check(Check *check, StringsRunner *runner, const StringsCase *strings);

const char *strings_kind_name(int kind);

#endif /* CHECK_STRINGS_CASE_H */
