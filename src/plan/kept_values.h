/*
 * plan/kept_values.h
 *		What was worked out of the statistics of columns, kept in the process until statistics change.
 *
 * To take the values out of a row of pg_statistic takes longer than to plan a small query, and applications
 * plan the same queries over and over.
 */
#ifndef GPUSORT_PLAN_KEPT_VALUES_H
#define GPUSORT_PLAN_KEPT_VALUES_H

#include "postgres.h"

#include "access/attnum.h"

/* What was asked of which column; compared as bytes, so to be filled by kept_value_key() alone. */
typedef struct KeptValueKey
{
	Oid table;
	AttrNumber column;
	bool inherited;
	uint8 question; /* the caller's number for it */
	uint64 details; /* the caller's, too: a number, or a hash of more */
} KeptValueKey;

extern KeptValueKey kept_value_key(Oid table, AttrNumber column, bool inherited, uint8 question,
								   uint64 details);

/* False: it is not kept.  Then it is to be worked out from statistics that are read after that, and put. */
extern bool kept_value_find(const KeptValueKey *key, double *value);

extern void kept_value_put(const KeptValueKey *key, double value);

#endif /* GPUSORT_PLAN_KEPT_VALUES_H */
