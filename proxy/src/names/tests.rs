use super::*;
use std::net::SocketAddr;

fn resource(name: &str) -> v2::Resource {
    v2::Resource { resource_namespace: String::new(), name: name.to_owned() }
}

#[test]
fn topics_of_the_server_and_names_against_the_rules_are_refused() {
    let long = "a".repeat(128);
    for name in ["", " ", "a b", "a.b", "é", long.as_str(), "TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_x"] {
        let refused = topic(Some(&resource(name))).unwrap_err();
        assert_eq!(refused.code, Code::IllegalTopic, "{name:?}");
    }
    assert_eq!(topic(None).unwrap_err().code, Code::IllegalTopic);
    for name in ["a", "%RETRY%g", "A-b_c|d%e", &long[..127]] {
        assert_eq!(topic(Some(&resource(name))).unwrap().as_str(), name);
    }
}

#[test]
fn groups_of_the_server_and_names_against_the_rules_are_refused() {
    let long = "a".repeat(121);
    for name in ["", "a b", long.as_str(), "CID_RMQ_SYS_x"] {
        let refused = group(Some(&resource(name))).unwrap_err();
        assert_eq!(refused.code, Code::IllegalConsumerGroup, "{name:?}");
    }
    assert_eq!(group(Some(&resource(&long[..120]))).unwrap().as_str(), &long[..120]);
}

#[test]
fn a_namespace_that_every_queue_of_an_answer_would_repeat_has_a_limit() {
    let mut resource = resource("t");
    resource.resource_namespace = "n".repeat(255);
    assert!(topic(Some(&resource)).is_ok());
    resource.resource_namespace.push('n');
    assert_eq!(topic(Some(&resource)).unwrap_err().code, Code::IllegalTopic);
}

fn ends() -> Ends {
    let peer = SocketAddr::from(([10, 0, 0, 9], 5));
    Ends { peer, local: "[::ffff:10.0.0.1]:8081".parse().unwrap() }
}

fn some(scheme: AddressScheme, count: usize) -> v2::Endpoints {
    let address = v2::Address { host: "outside.example".to_owned(), port: 443 };
    v2::Endpoints { scheme: scheme.into(), addresses: vec![address; count] }
}

#[test]
fn a_client_is_told_the_endpoints_that_it_came_by() {
    let asked = some(AddressScheme::DomainName, 2);
    assert_eq!(endpoints(Some(asked.clone()), &Settings::default(), ends()), Ok(asked));
}

#[test]
fn without_usable_endpoints_a_client_is_told_the_advertised_host_or_where_it_connected() {
    for asked in [None, Some(some(AddressScheme::Unspecified, 1)), Some(some(AddressScheme::IPv4, 0))] {
        let own = endpoints(asked.clone(), &Settings::default(), ends()).unwrap();
        assert_eq!((own.scheme(), own.addresses[0].host.as_str()), (AddressScheme::IPv4, "10.0.0.1"));
        assert_eq!(own.addresses[0].port, 8081);
        let host = Host { name: "broker.example".to_owned(), port: 9000 };
        let settings = Settings { advertised: Some(host), ..Settings::default() };
        let told = endpoints(asked, &settings, ends()).unwrap();
        assert_eq!((told.scheme(), told.addresses[0].port), (AddressScheme::DomainName, 9000));
    }
}

#[test]
fn endpoints_that_every_queue_of_an_answer_would_repeat_have_a_limit() {
    let refused = endpoints(Some(some(AddressScheme::IPv4, 65)), &Settings::default(), ends()).unwrap_err();
    assert_eq!(refused.code, Code::IllegalAccessPoint);
    let mut long = some(AddressScheme::DomainName, 1);
    long.addresses[0].host = "h".repeat(256);
    assert!(endpoints(Some(long), &Settings::default(), ends()).is_err());
}
