/*
 * wide_survey.h
 *		Looking at wide keys for the bits that tell them apart.
 */
#ifndef DEVSORT_WIDE_SURVEY_H
#define DEVSORT_WIDE_SURVEY_H

#include "base/workspace.h"
#include "fixed/squeeze.h"
#include "segments/rounds.h"

/* What a survey takes from the workspace: a mask for each word of a key. */
static inline unsigned long long *
wide_survey_take(Workspace *workspace)
{
	return workspace_take<unsigned long long>(workspace, SQUEEZE_MAX_WORDS);
}

/* Plans to take the bits in which any key differs from the first.  Waits for the stream. */
DevSortStatus wide_survey_keys(const DevSortFixedJob *job, unsigned long long *varying, SqueezePlan *plan,
							   cudaStream_t stream);

/*
 * After a round that left rows over: rest is a plan that has all the bits in which any of them differs from
 * another one of its segment.  Becomes a plan of these alone if that saves a round, and has no bits if rows
 * of a segment are equal.  Waits for the stream.
 */
DevSortStatus wide_survey_segments(const DevSortFixedJob *job, const SegmentRounds *rounds,
								   unsigned long long *varying, SqueezePlan *rest, cudaStream_t stream);

#endif /* DEVSORT_WIDE_SURVEY_H */
