/*
 * plan/cluster.h
 *		How CLUSTER and REPACK get a table's rows in the order of a B-tree: by an index scan, or by a sort.
 */
#ifndef GPUSORT_PLAN_CLUSTER_H
#define GPUSORT_PLAN_CLUSTER_H

#include "postgres.h"

#include "base/declined.h"

/* The choice for one table. */
typedef struct ClusterChoice
{
	bool by_us;		  /* do the rows get sorted because of gpusort's prediction, or of mode force? */
	Declined why_not; /* otherwise; words is NULL if PostgreSQL sorts, or gpusort was not asked */
	/* predicted milliseconds of either way, in addition to a scan of the table; -1: not predicted */
	double sort_ms;
	double index_ms;
} ClusterChoice;

/* Installs the hook; once, when the library is loaded. */
extern void cluster_install_hook(void);

/*
 * Would CLUSTER sort the rows of this table, whose B-tree the index is?  Fills *choice, and counts nothing.
 */
extern bool cluster_would_sort(Oid table, Oid index, ClusterChoice *choice);

#endif /* GPUSORT_PLAN_CLUSTER_H */
