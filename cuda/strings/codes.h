/*
 * codes.h
 *		Characters in as few bits as their variety needs.
 *
 * A survey of all strings finds which byte values occur.  The m values get the codes 1 to m in ascending
 * order, and 0 is what comes after the end of a string: so codes compare as strings do, a string before its
 * continuations, whatever bytes there are.  The four letters of a genome take 3 bits, lower case words 5,
 * text mostly 7, and all 256 values 9.
 *
 * A key of codes whose last one is 0 holds the string's end, so rows with equal such keys are equal.
 *
 * Strings of a single character differ in their lengths only: codes of 0 bits say that the key is what
 * remains of a string.
 *
 * The survey also tells what all strings have in common at their beginning.
 */
#ifndef DEVSORT_STRING_CODES_H
#define DEVSORT_STRING_CODES_H

#include "base/workspace.h"

struct StringCodes
{
	uint16_t code[256]; /* of a byte value; 0 if it does not occur */
	int bits;			/* of a code, 2 to 9; 0: at most one byte value occurs */
};

/* The strings of a job. */
struct StringText
{
	const uint8_t *bytes;
	const uint64_t *offsets;
};

/* What the survey finds, in device memory. */
struct StringSurvey
{
	uint32_t found[8]; /* a bit a byte value: it occurs */
	uint32_t longest;  /* length of the longest string, or UINT32_MAX if that is less */
	uint32_t prefix;   /* bytes that all strings have in common, but not more than SURVEY_PREFIX_MAX */
};

/* Surveys n strings, n not 0; *survey is device memory, *result on the host.  Waits for the stream. */
DevSortStatus string_survey(const StringText *text, uint64_t n, StringSurvey *survey, StringSurvey *result,
							cudaStream_t stream);

/* Gives codes to the byte values that occur. */
StringCodes string_codes_make(const StringSurvey *survey);

#endif /* DEVSORT_STRING_CODES_H */
