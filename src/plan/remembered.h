/*
 * plan/remembered.h
 *		What has been worked out for the query that is being planned, as long as a memory context of it lasts.
 */
#ifndef GPUSORT_PLAN_REMEMBERED_H
#define GPUSORT_PLAN_REMEMBERED_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* A static variable, its members 0. */
typedef struct Remembered
{
	List *entries; /* the latest first; all that is theirs must be in the memory context */
	MemoryContext context;
} Remembered;

/* The entries, which are in this memory context; those of another one, of another query, are forgotten. */
extern List *remembered_in(Remembered *remembered, MemoryContext context);

/* Adds an entry, when remembered_in has been called. */
extern void remember(Remembered *remembered, void *entry);

#endif /* GPUSORT_PLAN_REMEMBERED_H */
