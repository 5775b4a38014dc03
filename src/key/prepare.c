/*
 * key/prepare.c
 *		Prepares the encoders of described columns, and describes composite types again that were altered.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"

#include "key/changes.h"
#include "key/collation.h"
#include "key/describe.h"
#include "key/encoders.h"
#include "key/enum.h"
#include "key/icu.h"
#include "key/images.h"
#include "key/prepare.h"

static void
report_altered(Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("type %s was altered while values of it were being sorted", format_type_be(type)),
					errhint("Retry the query.")));
}

/* Are the first ones of these columns those of before? */
static bool
goes_on(const SortKeyComponents *components, const SortKeyComponents *before)
{
	int n = before->ncolumns;

	return components->ncolumns >= n && sort_key_hash_columns(n, components->columns, InvalidOid) ==
											sort_key_hash_columns(n, before->columns, InvalidOid);
}

/* Describes the components of a composite type again (SortKeyComponents.follow). */
static void
follow_type(SortKeyColumn *col)
{
	SortKeyComponents *before = col->components;
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(before));
	SortKeyColumn now = {.type = col->type, .kind = col->kind};
	Declined why_not;

	if (!sort_key_describe_record(col->type, NULL, &now, &why_not) || !goes_on(now.components, before) ||
		(now.verified && !col->verified))
		report_altered(col->type);
	for (int i = before->ncolumns; i < now.components->ncolumns; i++)
		sort_key_prepare_column(&now.components->columns[i]);
	memcpy(now.components->columns, before->columns, sizeof(SortKeyColumn) * before->ncolumns);
	*before = *now.components;
	before->follow = follow_type;
	MemoryContextSwitchTo(old);
}

void
sort_key_prepare_column(SortKeyColumn *col)
{
	if (col->append == sort_key_append_icu)
		col->icu = sort_key_icu_create(col->collation);
	if (col->append == sort_key_append_imaged)
		col->images = sort_key_images_create(col->collation, sort_key_text_order(col->collation) == TEXT_ICU);
	if (col->kind == SORT_KEY_ENUM)
		col->enum_order = sort_key_enum_create(col->type);
	if (sort_key_is_whole(col))
		fmgr_info_cxt(col->comparison, &col->compare, CurrentMemoryContext);
	if (col->kind == SORT_KEY_RECORD || col->kind == SORT_KEY_RECORD_IMAGE)
		col->components->follow = follow_type;
	for (int i = 0; col->components != NULL && i < col->components->ncolumns; i++)
		sort_key_prepare_column(&col->components->columns[i]);
}
