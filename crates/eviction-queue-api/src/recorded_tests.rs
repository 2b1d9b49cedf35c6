//! Versions one minor apart work together only as long as no number, type or name of the API changes its meaning: all of them are
//! written down in `recorded.txt` beside the proto file.

use std::fmt::Write as _;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet, ServiceDescriptorProto,
};

use crate::DESCRIPTORS;

const RECORDED: &str = include_str!("../../../proto/failover/evictionqueue/v1/recorded.txt");
const PACKAGE: &str = ".karmada.failover.evictionqueue.v1.";

#[test]
fn what_is_recorded_of_the_api_stays_and_what_is_new_is_recorded() {
    let now = lines();
    let (now, recorded): (Vec<&str>, Vec<&str>) = (now.lines().collect(), RECORDED.lines().collect());
    let missing: Vec<&&str> = recorded.iter().filter(|line| !now.contains(line)).collect();
    assert!(
        missing.is_empty(),
        "components of the version before say these and mean them; add something new instead: {missing:#?}"
    );
    let new: Vec<&&str> = now.iter().filter(|line| !recorded.contains(line)).collect();
    assert!(
        new.is_empty(),
        "these are new: add the lines to recorded.txt, and nothing else: {new:#?}"
    );
}

/// The whole API, a line for each field, value and call.
fn lines() -> String {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
    let ours = set.file.iter().filter(|file| file.name().starts_with("failover/"));
    let mut text = String::new();
    for file in ours {
        file.service.iter().for_each(|service| calls(&mut text, service));
        file.enum_type.iter().for_each(|values_of| values(&mut text, values_of));
        file.message_type.iter().for_each(|message| fields(&mut text, message));
    }
    text
}

fn calls(text: &mut String, service: &ServiceDescriptorProto) {
    for call in &service.method {
        let side = |name: &str, streams: bool| {
            let stream = if streams { "stream " } else { "" };
            format!("{stream}{}", short(name))
        };
        let (asks, answers) = (
            side(call.input_type(), call.client_streaming()),
            side(call.output_type(), call.server_streaming()),
        );
        writeln!(text, "rpc {}.{}: {asks} -> {answers}", service.name(), call.name()).unwrap();
    }
}

fn values(text: &mut String, values_of: &EnumDescriptorProto) {
    for value in &values_of.value {
        writeln!(text, "enum {}: {} = {}", values_of.name(), value.name(), value.number()).unwrap();
    }
}

fn fields(text: &mut String, message: &DescriptorProto) {
    assert!(
        message.nested_type.is_empty() && message.enum_type.is_empty(),
        "nested types would go unrecorded: {}",
        message.name()
    );
    if message.field.is_empty() {
        writeln!(text, "message {}", message.name()).unwrap();
    }
    for field in &message.field {
        let way = match () {
            () if field.label() == Label::Repeated => "repeated ",
            () if field.proto3_optional() => "optional ",
            () if field.oneof_index.is_some() => "one of ",
            () => "",
        };
        let (name, number) = (field.name(), field.number());
        writeln!(
            text,
            "message {}: {way}{} {name} = {number}",
            message.name(),
            type_of(field)
        )
        .unwrap();
    }
}

fn type_of(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Enum => short(field.type_name()),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    }
}

fn short(name: &str) -> String {
    name.trim_start_matches(PACKAGE).to_owned()
}
