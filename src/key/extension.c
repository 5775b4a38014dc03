/*
 * key/extension.c
 *		Types that extensions add: citext, ltree, and those that compare as one of PostgreSQL's own does.
 *
 * A type's number and name say nothing of what it is, but the function that its operator class compares by
 * does: where it is one that is known here, so is the order of the values, and how they are stored.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/fmgrtab.h"
#include "utils/syscache.h"

#include "key/builder.h"
#include "key/encoders.h"
#include "key/extension.h"

/* ---------------------------------------------------------------- ltree */

/* The type's format on disk, which pg_upgrade relies on: see contrib/ltree/ltree.h. */
#define LABEL_HEADER sizeof(uint16)
#define PATH_HEADER MAXALIGN(VARHDRSZ + sizeof(uint16))

/* Less than any byte of a label. */
#define PATH_END 0
#define LABEL_END 1

/*
 * Labels compare as bytes, one after the other: each with an end behind it that is less than a continuation,
 * and more than the end of the path.
 */
static void
append_ltree(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	const char *path = VARDATA_ANY(sort_key_detoast(key, value)) - VARHDRSZ;
	const char *label = path + PATH_HEADER;
	uint16 nlabels;

	memcpy(&nlabels, path + VARHDRSZ, sizeof(nlabels));
	for (int i = 0; i < nlabels; i++)
	{
		uint16 len;

		memcpy(&len, label, sizeof(len));
		sort_key_append_terminated(key, label + LABEL_HEADER, len, LABEL_END);
		label += MAXALIGN(LABEL_HEADER + len);
	}
	sort_key_append_byte(key, PATH_END);
}

/* ---------------------------------------------------------------- types */

typedef struct ExtensionType
{
	const char *library; /* of the function */
	const char *symbol;
	SortKeyType type;
} ExtensionType;

static const ExtensionType extension_types[] = {
	{"citext", "citext_cmp", {InvalidOid, SORT_KEY_CITEXT, 0, sort_key_append_text}},
	{"ltree", "ltree_cmp", {InvalidOid, SORT_KEY_LTREE, 0, append_ltree}},
};

/* ---------------------------------------------------------------- functions */

/* Is this path one of the library? */
static bool
is_library(const char *path, const char *library)
{
	const char *separator = strrchr(path, '/');
	const char *name = separator != NULL ? separator + 1 : path;
	Size len = strlen(library);

	return strncmp(name, library, len) == 0 && (name[len] == '\0' || strcmp(name + len, DLSUFFIX) == 0);
}

static const SortKeyType *
find_symbol(const char *library, const char *symbol)
{
	for (int i = 0; i < lengthof(extension_types); i++)
	{
		if (strcmp(symbol, extension_types[i].symbol) == 0 && is_library(library, extension_types[i].library))
			return &extension_types[i].type;
	}
	return NULL;
}

static char *
text_attribute(HeapTuple tuple, AttrNumber attribute)
{
	bool isnull;
	Datum value = SysCacheGetAttr(PROCOID, tuple, attribute, &isnull);

	return isnull ? pstrdup("") : TextDatumGetCString(value);
}

const SortKeyType *
sort_key_find_extension_type(Oid function, Oid *builtin)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	const SortKeyType *type = NULL;
	Oid language;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	*builtin = InvalidOid;
	if (language == ClanguageId)
		type = find_symbol(text_attribute(tuple, Anum_pg_proc_probin),
						   text_attribute(tuple, Anum_pg_proc_prosrc));
	else if (language == INTERNALlanguageId)
		*builtin = fmgr_internal_function(text_attribute(tuple, Anum_pg_proc_prosrc));
	ReleaseSysCache(tuple);
	return type;
}
