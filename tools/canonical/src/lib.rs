//! Derives for the records, variants and enums of `wit/` what the host's `runtime::canonical` asks of a value that crosses: how it lies in
//! the component's memory, by the
//! [canonical ABI](https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md).

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DataEnum, DataStruct, DeriveInput, Error, Fields, Index, Member, Type, Variant, parse_macro_input};

/// Implements `Canonical`, `Lower` and `Lift` of `crate::runtime::canonical`: a struct is a record of its fields in their order, an enum a
/// variant, whose cases have one field or none.
#[proc_macro_derive(Canonical)]
pub fn canonical(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let derived = match &input.data {
        Data::Struct(record) => Ok(of_record(&input, record)),
        Data::Enum(variant) => of_variant(&input, variant),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "no type of WIT is a union")),
    };
    derived.unwrap_or_else(Error::into_compile_error).into()
}

fn of_record(input: &DeriveInput, record: &DataStruct) -> TokenStream {
    let name = &input.ident;
    let named = |(number, field): (usize, &syn::Field)| match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index::from(number)),
    };
    let members: Vec<Member> = record.fields.iter().enumerate().map(named).collect();
    let types: Vec<&Type> = record.fields.iter().map(|field| &field.ty).collect();
    quote! {
        const _: () = {
            use crate::runtime::canonical::{Canonical, Flat, Guest, Lift, Lower, Place, Shape, part};
            impl Canonical for #name {
                const SHAPE: Shape = Shape::of_record(&[#(<#types as Canonical>::SHAPE),*]);
            }
            impl Lower for #name {
                fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> wasmtime::Result<()> {
                    let mut place = Place::at(0);
                    #(Lower::lower(&self.#members, guest, part(image, place.of::<#types>()))?;)*
                    Ok(())
                }
                fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> wasmtime::Result<()> {
                    #(Lower::flatten(&self.#members, guest, flat)?;)*
                    Ok(())
                }
            }
            impl Lift for #name {
                fn lift(memory: &[u8], at: usize) -> wasmtime::Result<Self> {
                    let mut place = Place::at(at);
                    Ok(Self { #(#members: Lift::lift(memory, place.of::<#types>())?),* })
                }
            }
        };
    }
}

/// One case: its name, its number, and the type of its payload.
fn case((number, case): (usize, &Variant)) -> syn::Result<(&syn::Ident, u8, Option<&Type>)> {
    // More would have a larger discriminant; no variant in `wit/` has more.
    let number = u8::try_from(number).map_err(|_| Error::new_spanned(case, "more than 256 cases"))?;
    let mut fields = case.fields.iter();
    match (&case.fields, fields.next(), fields.next()) {
        (Fields::Unit, ..) => Ok((&case.ident, number, None)),
        (Fields::Unnamed(_), Some(payload), None) => Ok((&case.ident, number, Some(&payload.ty))),
        _ => Err(Error::new_spanned(case, "a case has one payload, or none")),
    }
}

fn of_variant(input: &DeriveInput, variant: &DataEnum) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let cases = variant.variants.iter().enumerate().map(case).collect::<syn::Result<Vec<_>>>()?;
    let payloads = cases.iter().filter_map(|(_, _, payload)| *payload);
    let payload = format_ident!("payload");
    let pattern = |payload_type: &Option<&Type>| payload_type.map(|_| quote!((#payload)));
    let lowered = cases.iter().map(|(case, number, payload_type)| {
        let pattern = pattern(payload_type);
        let lower = payload_type.map(|_| quote!(Lower::lower(#payload, guest, part(image, Self::SHAPE.payload))?;));
        quote!(Self::#case #pattern => { put(image, [#number])?; #lower })
    });
    let flattened = cases.iter().map(|(case, number, payload_type)| {
        let pattern = pattern(payload_type);
        let flatten = payload_type.map(|_| quote!(Lower::flatten(#payload, guest, flat)?;));
        quote!(Self::#case #pattern => { flat.push(#number.into()); #flatten })
    });
    let lifted = cases.iter().map(|(case, number, payload_type)| {
        let payload = payload_type.map(|_| quote!((Lift::lift(memory, at + Self::SHAPE.payload)?)));
        quote!(#number => Self::#case #payload,)
    });
    Ok(quote! {
        const _: () = {
            use crate::runtime::canonical::{Canonical, Flat, Guest, Lift, Lower, Shape, no_case, part, put};
            impl Canonical for #name {
                const SHAPE: Shape = Shape::of_variant(&[#(<#payloads as Canonical>::SHAPE),*]);
            }
            impl Lower for #name {
                fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> wasmtime::Result<()> {
                    match self { #(#lowered)* }
                    Ok(())
                }
                fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> wasmtime::Result<()> {
                    let end = flat.len() + Self::SHAPE.flat;
                    match self { #(#flattened)* }
                    flat.resize(end, 0);
                    Ok(())
                }
            }
            impl Lift for #name {
                fn lift(memory: &[u8], at: usize) -> wasmtime::Result<Self> {
                    Ok(match u8::lift(memory, at)? { #(#lifted)* case => return no_case(case) })
                }
            }
        };
    })
}
