/*
 * fixed.h
 *		One sort of fixed keys, from making the keys to the proof that the result is right.
 */
#ifndef CHECK_FIXED_CASE_H
#define CHECK_FIXED_CASE_H

#include "check/proof/guarded.h"
#include "check/proof/oracle.h"

typedef enum FixedPayload
{
	PAYLOAD_GIVEN,	  /* any 32 bits a row */
	PAYLOAD_IMPLICIT, /* indexes are NULL: row numbers */
	PAYLOAD_NONE,	  /* keys alone */
	NPAYLOADS
} FixedPayload;

typedef struct FixedCase
{
	DevSortAlgorithm algorithm;
	int key_bytes;
	DevSortKeyFormat format;
	FixedPayload payload;
	Distribution distribution;
	uint64_t n;
	uint64_t seed;
	int samples;
} FixedCase;

/* What is kept from case to case.  One for each thread that sorts. */
typedef struct FixedRunner
{
	Guarded guarded;
	FixedCase fixed;
	DevSortFixedJob job;
	void *workspace;
	size_t workspace_bytes;
	PayloadRule rule;
	char *host; /* the keys, the sorted keys, the sorted payloads */
	size_t host_bytes;
} FixedRunner;

/* Sorts and proves. */
bool fixed_run(FixedRunner *runner, const FixedCase *fixed, Why *why);
void fixed_release(FixedRunner *runner);

/* The three steps of a run, for tests in which the second one fails. */
bool fixed_prepare(FixedRunner *runner, const FixedCase *fixed, Why *why);
DevSortStatus fixed_sort(FixedRunner *runner);
bool fixed_prove(FixedRunner *runner, Why *why);

/* The options that run the case again. */
typedef struct FixedName
{
	char text[240];
} FixedName;

FixedName fixed_name(const FixedCase *fixed);

/* Runs it and counts it in the group. */
void fixed_check(Check *check, FixedRunner *runner, const FixedCase *fixed);

#endif /* CHECK_FIXED_CASE_H */
