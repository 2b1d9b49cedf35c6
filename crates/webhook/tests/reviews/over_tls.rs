//! The webhook as an API server reaches it.

use std::time::Duration;

use controller_kit::{Clock, Ended};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::json;
use test_bench::{Authority, Counts, Of, STARTED};

use crate::scene::{PAUSES, Scene, pause, review, said};

#[rstest]
#[case::elsewhere(
    "POST /validate/pods HTTP/1.1\r\n",
    "{}",
    404,
    "there is no webhook at this path; there are /validate/clustertaintpolicies"
)]
#[case::root("GET / HTTP/1.1\r\n", "", 404, "there is no webhook at this path")]
#[case::no_post(&format!("GET {PAUSES} HTTP/1.1\r\n"), "", 405, "GET is not answered here: reviews are sent by POST")]
#[case::yaml(&format!("POST {PAUSES} HTTP/1.1\r\ncontent-type: application/yaml\r\n"), "a: b", 415, "reviews are application/json")]
#[case::no_json(&format!("POST {PAUSES} HTTP/1.1\r\n"), "{", 400, "this is no AdmissionReview in JSON")]
#[case::empty(&format!("POST {PAUSES} HTTP/1.1\r\n"), "", 400, "this is no AdmissionReview in JSON")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_review_gets_an_answer_that_says_why(
    #[case] head: &str,
    #[case] body: &str,
    #[case] status: u16,
    #[case] words: &str,
) {
    let scene = Scene::new();
    let server = scene.start().await;
    let mut connection = server.connect(&scene.authority.pem(), None).await.unwrap();
    let answer = said(&mut connection, head, body).await.unwrap();
    assert_eq!(answer.status, status, "{}", answer.body);
    assert!(answer.body.starts_with(words), "{}", answer.body);
    let is_text = answer.body.ends_with('\n') && answer.body.lines().count() == 1;
    assert!(is_text, "one line: {:?}", answer.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_that_is_too_large_is_not_read_to_its_end() {
    let scene = Scene::new();
    let server = scene.start().await;
    let large = " ".repeat(5 * 1024 * 1024);
    let answer = server.post(&scene.authority.pem(), PAUSES, &large).await;
    match answer {
        Ok(answer) => {
            assert_eq!(answer.status, 413);
            assert!(
                answer.body.starts_with("the review is larger than 4194304 bytes"),
                "{}",
                answer.body
            );
        }
        // The rest of it met a closed connection.
        Err(broken) => assert!(!broken.is_empty()),
    }
    let fine = server.review(&scene, PAUSES, &pause(&json!({}))).await;
    assert_eq!(fine["allowed"], true, "the next one is answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_swapped_while_it_runs() {
    let scene = Scene::new();
    let server = scene.start().await;
    let mut open = server.connect(&scene.authority.pem(), None).await.unwrap();
    let body = review("CREATE", &pause(&json!({}))).to_string();
    let head = format!("POST {PAUSES} HTTP/1.1\r\n");
    assert_eq!(said(&mut open, &head, &body).await.unwrap().status, 200);

    // Half a change, and one that makes no sense: what was read before stays in force, and the reason is told.
    std::fs::write(scene.folder.path().join("webhook.crt"), "no certificate").unwrap();
    crate::scene::eventually("the new files are seen", async || {
        let _ = server.connect(&scene.authority.pem(), None).await.unwrap();
        !server.running.readiness().notes().is_empty()
    })
    .await;
    let notes = server.running.readiness().notes().join("\n");
    assert!(
        notes.contains(
            "changed files of the webhook's TLS are refused, those of before stay in force: --tls-cert-file="
        ),
        "{notes}"
    );

    let next = Authority::new("next");
    next.issue("webhook", Of::Server).write(scene.folder.path(), "webhook");
    crate::scene::eventually("the next authority's certificate is in force", async || {
        server.connect(&next.pem(), None).await.is_ok()
    })
    .await;
    let refused = server.connect(&scene.authority.pem(), None).await.unwrap_err();
    assert!(refused.contains("an authority that is not trusted here"), "{refused}");
    assert_eq!(
        said(&mut open, &head, &body).await.unwrap().status,
        200,
        "a connection that is open goes on"
    );
    assert_eq!(server.running.stop().await, Ended::Stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_runs_out_makes_it_unready_and_says_what_to_do() {
    let scene = Scene::at(Clock::simulated(STARTED));
    let issued = scene
        .authority
        .issue_for("webhook", Of::Server, Counts::Until(2027), &[]);
    let server = scene.start_with(scene.flags(&issued)).await;
    server.ready().await;
    scene.clock.jump(SignedDuration::from_hours(366 * 24));
    assert_eq!(
        server.running.readiness().missing(),
        [
            "webhook certificate: it was valid until 2027-01-01T00:00:00Z, and API servers refuse it since: write a new one \
             into --tls-cert-file and --tls-key-file; it is read within seconds"
        ]
    );
    scene
        .authority
        .issue("webhook", Of::Server)
        .write(scene.folder.path(), "webhook");
    crate::scene::eventually("the new one is read", async || {
        let _ = server.connect(&scene.authority.pem(), None).await;
        server.running.readiness().missing().is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_show_a_certificate_where_it_is_asked_for() {
    let scene = Scene::new();
    let callers = Authority::new("callers");
    let mut flags = scene.flags(&scene.authority.issue("webhook", Of::Server));
    flags.tls_client_ca_file = Some(scene.write("callers.crt", &callers.pem()));
    let server = scene.start_with(flags).await;
    let body = review("CREATE", &pause(&json!({}))).to_string();
    let head = format!("POST {PAUSES} HTTP/1.1\r\n");
    let caller = callers.issue("kube-apiserver", Of::Client);
    let mut known = server.connect(&scene.authority.pem(), Some(&caller)).await.unwrap();
    assert_eq!(said(&mut known, &head, &body).await.unwrap().status, 200);
    // In TLS 1.3 the server's refusal comes with the first words after the handshake.
    let refused = match server.connect(&scene.authority.pem(), None).await {
        Ok(mut stranger) => said(&mut stranger, &head, &body).await.unwrap_err(),
        Err(refused) => refused,
    };
    assert!(refused.contains("requires a certificate of ours"), "{refused}");
}

/// As when a Service still leads to a replica that is rolled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_while_it_ends_is_answered() {
    let scene = Scene::new();
    let server = scene.start().await;
    let body = review("CREATE", &pause(&json!({}))).to_string();
    let head = format!("POST {PAUSES} HTTP/1.1\r\n");
    let authority = scene.authority.pem();
    let mut open = server.connect(&authority, None).await.unwrap();
    assert_eq!(said(&mut open, &head, &body).await.unwrap().status, 200);
    let mut silent = server.connect(&authority, None).await.unwrap();
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        for late in [&mut open, &mut silent] {
            assert_eq!(said(late, &head, &body).await.unwrap().status, 200);
            assert!(said(late, &head, &body).await.is_err(), "the next one leads elsewhere");
        }
        let fine = server.review(&scene, PAUSES, &pause(&json!({}))).await;
        assert_eq!(fine["allowed"], true, "a new connection");
    };
    let (ended, ()) = tokio::join!(server.running.stop(), meanwhile);
    assert_eq!(ended, Ended::Stopped);
    assert!(
        tokio::net::TcpStream::connect(server.address).await.is_err(),
        "and then nobody is there"
    );
}

/// A caller that says nothing keeps nobody from being answered, and a stop is quick all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_callers_are_in_nobodys_way() {
    let scene = Scene::new();
    let server = scene.start().await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(tokio::net::TcpStream::connect(server.address).await.unwrap());
    }
    let idle = server.connect(&scene.authority.pem(), None).await.unwrap();
    let fine = server.review(&scene, PAUSES, &pause(&json!({}))).await;
    assert_eq!(fine["allowed"], true);
    let stopped = tokio::time::timeout(Duration::from_secs(5), server.running.stop()).await;
    assert_eq!(stopped.unwrap(), Ended::Stopped);
    drop((silent, idle));
}
