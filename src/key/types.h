/*
 * key/types.h
 *		What a sort column is, inside the sort_key files.
 *
 * A column's encoding is its *marker*, which tells NULL from a value and puts the NULLs first or last, and
 * then the value's bytes, complemented if the column is sorted descending.
 *
 * Every column encoding is prefix-free: of two different encodings of one column neither is a prefix of the
 * other.  Fixed widths are so by nature, and each variable encoder says how it comes by it.  All exactness
 * rests on that:
 *
 *	- Complementing bytes turns the order round, and keeps the property.
 *	- Of two rows, take the first column whose encodings differ.  They differ in a byte that both of them
 *	  have, and all before is equal: that byte decides as the column does, and what follows it, later columns,
 *	  padding or zero bytes left out at the end, is never looked at.  The byte itself, if it was a zero at the
 *	  end and left out, is read as a zero again.
 *	- If no column differs, the keys are the same bytes.
 */
#ifndef GPUSORT_KEY_TYPES_H
#define GPUSORT_KEY_TYPES_H

#include "fmgr.h"

#include "base/pg_compat.h"
#include "key/sort_key.h"

/* How values become bytes; the comment is what the Datum holds. */
typedef enum SortKeyKind
{
	/* fixed width, see fixed.h */
	SORT_KEY_BOOL,	/* bool */
	SORT_KEY_UINT8, /* "char", which compares unsigned */
	SORT_KEY_INT16,
	SORT_KEY_INT32,
	SORT_KEY_UINT32,
	SORT_KEY_INT64,
	SORT_KEY_UINT64,
	SORT_KEY_FLOAT4,
	SORT_KEY_FLOAT8,
	SORT_KEY_BYTES6, /* pointer to bytes in order */
	SORT_KEY_BYTES8,
	SORT_KEY_BYTES16,
	SORT_KEY_TID,	   /* ItemPointer */
	SORT_KEY_TIMETZ,   /* TimeTzADT * */
	SORT_KEY_INTERVAL, /* Interval * */
	SORT_KEY_ENUM,	   /* oid of a pg_enum row */
	/* variable width */
	SORT_KEY_TEXT,	 /* varlena */
	SORT_KEY_BPCHAR, /* varlena, trailing blanks don't count */
	SORT_KEY_NAME,	 /* Name */
	SORT_KEY_BYTEA,
	SORT_KEY_BIT, /* VarBit * */
	SORT_KEY_NUMERIC,
	SORT_KEY_INET, /* inet or cidr */
	SORT_KEY_OIDVECTOR,
	SORT_KEY_TSVECTOR,
	SORT_KEY_TSQUERY,
	SORT_KEY_LTREE,
	SORT_KEY_CITEXT,
	SORT_KEY_JSONB_STRING, /* JsonbValue *, within a document */
	/* the same, made of values of other types, see parts.h */
	SORT_KEY_ARRAY,
	SORT_KEY_RECORD, /* of a composite type */
	SORT_KEY_RANGE,
	SORT_KEY_MULTIRANGE,
	SORT_KEY_JSONB,
	SORT_KEY_UNKNOWN /* of whatever type: only its comparison knows the order */
} SortKeyKind;

/* Appends the bytes of a value that is not NULL to the key; see sort_key_reserve. */
typedef void (*SortKeyAppend)(SortKey *key, SortKeyColumn *col, Datum value);

/* What becomes of the values of a type. */
typedef struct SortKeyType
{
	Oid type; /* InvalidOid: one of an extension */
	SortKeyKind kind;
	uint8 width;		  /* bytes of a value; 0 if variable */
	SortKeyAppend append; /* NULL if fixed */
	bool self_marked;	  /* see SortKeyColumn */
} SortKeyType;

typedef struct SortKeyIcu SortKeyIcu;		/* icu.c */
typedef struct SortKeyImages SortKeyImages; /* images.c */
typedef struct SortKeyEnum SortKeyEnum;		/* enum.c */
typedef struct SortKeyParts SortKeyParts;	/* parts.h */

struct SortKeyColumn
{
	int attidx; /* index into tts_values */
	SortKeyKind kind;
	uint8 width; /* bytes of a value; 0 if variable */
	uint8 null_marker;
	uint8 value_marker;
	bool self_marked; /* the value's first byte is 01 - FE and does as the marker */
	bool unmarked;	  /* there are no NULLs, and no marker; fixed keys */
	bool descending;
	uint64 invert;		   /* all ones if descending, else 0 */
	SortKeyAppend append;  /* NULL if fixed */
	Oid type;			   /* base type */
	bool verified;		   /* is the key a guess at the order of strings, which is to be verified? */
	Oid collation;		   /* of text that is not in bytewise order for certain, and of what is made of
							* such text; else InvalidOid */
	SortKeyIcu *icu;	   /* NULL: not by ICU */
	SortKeyImages *images; /* makes those of strings; NULL: the string stands without one */
	SortKeyEnum *enum_order;
	SortKeyParts *parts; /* NULL: values are not made of others */
	SortKeyAppend guess; /* of values that stand whole behind it, and are compared so; else NULL */
	Oid comparison;		 /* by this function */
	FmgrInfo compare;	 /* the same, ready to be called */
	int16 length;		 /* then: typlen and typbyval */
	bool by_value;
};

/* Bytes of a fixed key that say whether the column is NULL. */
static inline int
sort_key_marker_bytes(const SortKeyColumn *col)
{
	return col->unmarked ? 0 : 1;
}

/* What becomes of values of the base type in its default order; NULL: nothing exact. */
extern const SortKeyType *sort_key_find_type(Oid type);

/*
 * The same in the order of this operator class; *bytewise: whatever the collation.
 */
extern const SortKeyType *sort_key_find_order(Oid type, Oid opfamily, Oid opcintype, bool *bytewise);

/*
 * A number that tells what the columns are from other ones; with_values: and what is known of those of enums.
 */
extern uint64 sort_key_hash_columns(int ncols, const SortKeyColumn *cols, bool with_values);

/*
 * Fills in what is known of the column without looking at data, all but icu, images and enum_order, in
 * CurrentMemoryContext.  False if it can't be encoded exactly, *why_not tells why.
 */
extern bool sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not);

/*
 * The same of a column that could be encoded when the plan was made.  If that has changed since, its values
 * stand whole, and the operator's comparison has the last word.
 */
extern void sort_key_describe_anyhow(const SortColumnSpec *spec, SortKeyColumn *col);

/* Makes ready what the column's values, or their parts, are encoded by, in CurrentMemoryContext. */
extern void sort_key_prepare_column(SortKeyColumn *col);

/* Appends a value, or NULL, with its marker to the key. */
extern void sort_key_append_column(SortKey *key, SortKeyColumn *col, Datum value, bool isnull);

/* Makes room in key->buffer for "more" bytes after key->length. */
extern void sort_key_grow(SortKey *key, Size more);

/* A compressed or out-of-line value, whole, in key->scratch. */
extern struct varlena *sort_key_fetch(SortKey *key, struct varlena *value);

/*
 * Appends key->places, where the columns stand that are to be verified, to the key, which is complete but for
 * that.
 */
extern void sort_key_append_places(SortKey *key);

extern void sort_key_append_text(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_bytea(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_bit(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_inet(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_oidvector(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_numeric(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_icu(SortKey *key, SortKeyColumn *col, Datum value);

/*
 * An image, 00, the string, 00.  Between the image and the string may stand ties, which also guess at the
 * order: one of the first two of these, bytes that are not zero, 00.  So those in front of something come
 * before, those behind it after, a string without ties.  Then, where the string tells more of the order than
 * what stands before it, or could be taken for ties: the third of these.
 */
#define TIES_IN_FRONT 0x01
#define TIES_BEHIND 0xFF
#define STRING_TELLS 0x02

/* Is that not the string's first byte? */
static inline bool
begins_ties(uint8 byte)
{
	return byte == TIES_IN_FRONT || byte == TIES_BEHIND || byte == STRING_TELLS;
}

extern void sort_key_append_imaged(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_tsvector(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_tsquery(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_ltree(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_array(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_record(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_range(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_multirange(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_jsonb(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_whole(SortKey *key, SortKeyColumn *col, Datum value);
extern void sort_key_append_nothing(SortKey *key, SortKeyColumn *col, Datum value);

/*
 * The type whose values this function compares; NULL: none that is known here.  *builtin is then the function
 * of PostgreSQL's own that it is another name of, or InvalidOid.
 */
extern const SortKeyType *sort_key_find_extension_type(Oid function, Oid *builtin);

/* The characters of a citext in lower case, until the next row. */
extern const char *sort_key_lower_case(SortKey *key, Datum datum, Size *len);

/* The characters of a JsonbValue that is a string. */
extern const char *sort_key_jsonb_string(Datum value, Size *len);

/* Makes ready what compares a column's values whole, in CurrentMemoryContext. */
extern void sort_key_prepare_whole(SortKeyColumn *col);

/* Bytes that a value of so many, and its image, take in the key, about. */
extern double sort_key_whole_size(double width);

/*
 * How text is ordered by this collation; *verified: do keys only guess at that?  False if they don't even do
 * so, *why_not tells why.
 */
extern bool sort_key_describe_collation(Oid collation, TextOrder *order, bool *verified, Declined *why_not);

/* Says that keys only guess at the order of this collation, where that will not do; returns false. */
extern bool sort_key_decline_guess(Oid collation, Declined *why_not);

/* Do keys order strings as PostgreSQL's comparisons do? */
typedef enum SortKeyTrust
{
	SORT_KEY_EXACT, /* for certain */
	SORT_KEY_GUESS, /* but for a few, so the order is to be verified */
	SORT_KEY_WRONG
} SortKeyTrust;

/*
 * Those of this ICU collation; *setting names what is in the way, NULL: nothing.  Raises PostgreSQL's own
 * error if the collation can't be opened.
 */
extern SortKeyTrust sort_key_icu_trust(Oid collation, const char **setting);

/* An open ICU collation in CurrentMemoryContext; raises PostgreSQL's own error if it can't be opened. */
extern SortKeyIcu *sort_key_icu_create(Oid collation);

/* Are a string's own bytes behind the sort key? */
extern bool sort_key_icu_has_bytes(const SortKeyIcu *icu);

/*
 * Stores up to "room" bytes of a string's sort key at dst, without the zero at its end; returns how many it
 * has.
 */
extern Size sort_key_icu_ask(SortKeyIcu *icu, const char *bytes, Size len, uint8 *dst, Size room);

/* Has the string the weights that its characters have one by one? */
extern bool sort_key_icu_is_by_character(SortKeyIcu *icu, const char *bytes, Size len);

/* What makes images of strings by this collation of ICU, or the C library, in CurrentMemoryContext. */
extern SortKeyImages *sort_key_images_create(Oid collation, bool by_icu);

/* The order of an enum's values, as it is now, in CurrentMemoryContext. */
extern SortKeyEnum *sort_key_enum_create(Oid type);

/* Takes over what values other sessions have added. */
extern void sort_key_enum_read(SortKeyEnum *order);

/* Four bytes, as an unsigned number, that order the enum's values. */
extern uint32 sort_key_enum_order(SortKeyEnum *order, Oid value);

/* A number that tells the order, as far as it is known, from another one. */
extern uint64 sort_key_enum_fingerprint(const SortKeyEnum *order);

/* Bytes that the image of a string of so many bytes has, about. */
extern double sort_key_image_size(double width);

/* The place where the next "more" bytes of the key go; the caller adds to key->length what it used. */
static inline uint8 *
sort_key_reserve(SortKey *key, Size more)
{
	if (unlikely(key->buffer_size - key->length < more))
		sort_key_grow(key, more);
	return key->buffer + key->length;
}

static inline void
sort_key_append_byte(SortKey *key, uint8 byte)
{
	*sort_key_reserve(key, 1) = byte;
	key->length++;
}

/*
 * Appends a string that has no zero byte, and a zero byte; and notes where it stands, as it may be the last.
 */
static inline void
sort_key_append_string(SortKey *key, const char *bytes, Size len)
{
	uint8 *dst = sort_key_reserve(key, len + 1);

	memcpy(dst, bytes, len);
	dst[len] = 0;
	key->tail = bytes;
	key->tail_start = key->length;
	key->length += len + 1;
	key->tail_end = key->length;
}

/* A varlena that can be read with VARDATA_ANY: the value itself wherever possible. */
static inline struct varlena *
sort_key_detoast(SortKey *key, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
		return sort_key_fetch(key, value);
	return value;
}

/* The characters of a text, bpchar or name that count for its order. */
static inline const char *
sort_key_text_bytes(SortKey *key, const SortKeyColumn *col, Datum datum, Size *len)
{
	struct varlena *value;
	const char *bytes;
	Size n;

	if (col->kind == SORT_KEY_NAME)
	{
		bytes = NameStr(*DatumGetName(datum));
		*len = strnlen(bytes, NAMEDATALEN);
		return bytes;
	}
	if (col->kind == SORT_KEY_JSONB_STRING)
		return sort_key_jsonb_string(datum, len);
	if (col->kind == SORT_KEY_CITEXT)
		return sort_key_lower_case(key, datum, len);

	value = sort_key_detoast(key, datum);
	bytes = VARDATA_ANY(value);
	n = VARSIZE_ANY_EXHDR(value);
	if (col->kind == SORT_KEY_BPCHAR)
		while (n > 0 && bytes[n - 1] == ' ')
			n--;
	*len = n;
	return bytes;
}

#endif /* GPUSORT_KEY_TYPES_H */
