/*
 * plan/remembered.h
 *		Results for the query that is being planned, kept until a memory context of the query ends.
 */
#ifndef GPUSORT_PLAN_REMEMBERED_H
#define GPUSORT_PLAN_REMEMBERED_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* A static variable, its members 0. */
typedef struct Remembered
{
	List *entries; /* the latest first; all their memory must be in the memory context */
	MemoryContext context;
} Remembered;

/* Returns the entries in this memory context.  Entries of another context, of another query, are dropped. */
extern List *remembered_in(Remembered *remembered, MemoryContext context);

/*
 * Returns a node that lasts as long as the context.  It is a copy if this is not the current context: the
 * genetic optimizer resets its own context after each order of joins.
 */
extern void *lasting_node(MemoryContext context, void *node);

/* Adds an entry.  Call remembered_in before. */
extern void remember(Remembered *remembered, void *entry);

#endif /* GPUSORT_PLAN_REMEMBERED_H */
