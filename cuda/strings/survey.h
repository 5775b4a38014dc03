/*
 * survey.h
 *		A look at the strings before the first round: how often characters occur, and what all strings have in
 *		common.
 *
 * Characters are counted at the beginnings of a sample of the strings.  All strings are looked at only where
 * the sample says that this may save the rounds: if its strings have a common beginning, or consist of one
 * character.
 */
#ifndef DEVSORT_STRING_SURVEY_H
#define DEVSORT_STRING_SURVEY_H

#include "base/read_back.h"
#include "base/workspace.h"
#include "strings/codes.h"

/*
 * Longer strings are refused: depths of segments have 32 bits, and are at most a round behind the end of a
 * string.
 */
#define STRING_LONGEST (UINT32_MAX - 65536)

/* In device memory, of the sample; then of all strings, where they are looked at. */
struct StringSurvey
{
	uint32_t counts[256]; /* how often a byte value occurs */
	uint32_t ends;		  /* strings that end where characters are counted */
	uint32_t found[8];	  /* a bit a byte value: it occurs in some string */
	uint32_t longest;	  /* length of the longest string, or UINT32_MAX if that is less */
	uint32_t unshared;	  /* STRING_PREFIX_MAX less what strings have in common */
	uint64_t bytes;		  /* of all strings */
	uint32_t tells_all;	  /* the sample leaves nothing open: all strings need not be looked at */
};

/* What is known of all strings. */
struct StringFacts
{
	bool all_equal;		/* then the rest is not told */
	bool one_character; /* at most one byte value occurs */
	uint32_t longest;	/* as above; maybe less, if it is not more than STRING_LONGEST */
	uint32_t prefix;	/* bytes that they have in common, but not more than STRING_PREFIX_MAX */
	uint32_t counts[256];
	uint32_t ends;
};

/*
 * Queues the look at a sample of n strings, n not 0; *survey and *codes are device memory.  If
 * survey->tells_all becomes not 0 there, *codes are those of the first round, and these strings have more
 * than one character, and no common beginning.
 */
DevSortStatus string_survey_begin(const StringText *text, uint64_t n, StringSurvey *survey,
								  StringCodes *codes, ReadBack *read, cudaStream_t stream);

/*
 * Waits for that look, and if it did not tell all, for one or two more.  *told_all: it did.
 */
DevSortStatus string_survey_end(const StringText *text, uint64_t n, StringSurvey *survey, ReadBack *read,
								StringFacts *facts, bool *told_all, cudaStream_t stream);

#endif /* DEVSORT_STRING_SURVEY_H */
