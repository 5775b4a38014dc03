/*
 * base/declined.h
 *		Why a sort is left to PostgreSQL: a category for counters, and words for a person.
 */
#ifndef GPUSORT_BASE_DECLINED_H
#define GPUSORT_BASE_DECLINED_H

#include "postgres.h"

typedef enum DeclinedReason
{
	DECLINED_MODE_OFF, /* never counted */
	DECLINED_FEW_ROWS,
	DECLINED_LIMIT,
	DECLINED_TYPE,
	DECLINED_OPERATOR,
	DECLINED_COLLATION,
	DECLINED_KIND, /* the sort is not a plan node, or belongs to another extension */
	DECLINED_COST, /* PostgreSQL's plan is expected to be cheaper */

	/* Only for index builds. */
	DECLINED_TABLE, /* the table access method is not heap */
	DECLINED_REASONS
} DeclinedReason;

typedef struct Declined
{
	DeclinedReason reason;
	const char *words; /* palloc'd or static, a sentence fragment */
} Declined;

/* Fills a Declined and returns false, for functions that decide. */
#define declined_because(why_not, the_reason, the_words) \
	(*(why_not) = (Declined){.reason = (the_reason), .words = (the_words)}, false)

#endif /* GPUSORT_BASE_DECLINED_H */
