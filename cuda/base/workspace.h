/*
 * workspace.h
 *		Laying out a workspace: the same function that takes the pieces also measures them.
 *
 * An algorithm has one function that takes its pieces from a Workspace into a struct.  Called on
 * workspace_measure() it only adds up; called on the caller's memory it gives addresses.  So the two can't
 * disagree.
 */
#ifndef DEVSORT_WORKSPACE_H
#define DEVSORT_WORKSPACE_H

#include "base/status.h"

#define WORKSPACE_ALIGNMENT 256

typedef struct Workspace
{
	char *base; /* NULL when measuring */
	size_t used;
} Workspace;

static inline Workspace
workspace_measure(void)
{
	Workspace workspace = {NULL, 0};

	return workspace;
}

static inline Workspace
workspace_open(void *memory)
{
	Workspace workspace = {(char *) memory, 0};

	return workspace;
}

/* Takes count elements; when measuring, the address is not to be used. */
template <typename T>
static inline T *
workspace_take(Workspace *workspace, size_t count)
{
	size_t at = workspace->used;

	workspace->used +=
		(count * sizeof(T) + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
	return workspace->base ? (T *) (workspace->base + at) : NULL;
}

/* Bytes to ask the caller for: what was measured, and what aligning the caller's memory may cost. */
static inline size_t
workspace_bytes(const Workspace *measured)
{
	return measured->used + WORKSPACE_ALIGNMENT;
}

/* Opens the caller's memory, if it is large enough for what was measured. */
static inline DevSortStatus
workspace_check(void *memory, size_t bytes, const Workspace *measured, Workspace *workspace)
{
	uintptr_t aligned =
		((uintptr_t) memory + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;

	if (memory == NULL || bytes < workspace_bytes(measured))
		return status_make(DEVSORT_INVALID, "the workspace has %zu bytes, but %zu are needed",
						   memory == NULL ? (size_t) 0 : bytes, workspace_bytes(measured));
	*workspace = workspace_open((void *) aligned);
	return status_ok();
}

#endif /* DEVSORT_WORKSPACE_H */
