/** Types of values that follow from schemas. */

/** A Standard Schema (standardschema.dev), as made by zod, ArkType or Valibot. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The types that a Standard Schema states; `undefined` if it states none. */
type TypesOf<Schema> = Schema extends { readonly "~standard": { readonly types?: infer Types } } ? Types : undefined;

/** The arguments that a tool gets: what a Standard Schema converts to, or what a JSON Schema describes. */
export type ArgumentsOf<Schema> = Schema extends { readonly "~standard": unknown }
  ? NonNullable<TypesOf<Schema>> extends { readonly output: infer Output }
    ? Output
    : unknown
  : JsonValueOf<Schema>;

/**
 * The value that a model generates: what a Standard Schema takes, because its conversions do not apply, or what a JSON
 * Schema describes. `T` instead if the caller names it.
 */
export type GeneratedOf<T, Schema> = [T] extends [never]
  ? Schema extends { readonly "~standard": unknown }
    ? NonNullable<TypesOf<Schema>> extends { readonly input: infer Input }
      ? Input
      : unknown
    : JsonValueOf<Schema>
  : T;

interface JsonTypes {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

/** The value that a JSON Schema describes, as far as `type`, `properties`, `items`, `enum` and `const` tell. */
export type JsonValueOf<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: infer Type }
      ? Type extends keyof JsonTypes
        ? JsonTypes[Type]
        : Type extends "array"
          ? Schema extends { readonly items: infer Items }
            ? JsonValueOf<Items>[]
            : unknown[]
          : Type extends "object"
            ? JsonObjectOf<Schema>
            : unknown
      : unknown;

type JsonObjectOf<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      { [Name in keyof Properties & RequiredOf<Schema>]: JsonValueOf<Properties[Name]> } & {
        [Name in Exclude<keyof Properties, RequiredOf<Schema>>]?: JsonValueOf<Properties[Name]> | undefined;
      }
    >
  : Record<string, unknown>;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Flat<T> = { -readonly [Name in keyof T]: T[Name] };
