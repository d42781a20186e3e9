use super::*;

fn found(text: &str) -> Vec<&str> {
    crate::tests::steps::found(text, |text, emit| {
        find(text, emit);
        find_curl(text, emit);
    })
}

#[test]
fn a_secret_among_the_arguments_of_a_command_is_one() {
    for text in [
        "curl -u me:Q1w2e3r4t5y6 https://x",
        "curl -su 'me:Q1w2e3r4t5y6' https://x",
        "curl --user=me:Q1w2e3r4t5y6 https://x",
        "login --password Q1w2e3r4t5y6",
        "ENV API_TOKEN Q1w2e3r4t5y6",
        "cli --api-key 'Q1w2e3r4t5y6' x",
        "--client-secret Q1w2e3r4t5y6",
    ] {
        assert_eq!(found(text), ["Q1w2e3r4t5y6"], "{text}");
    }
    for text in [
        "docker run -u 1000:1000 curlimages/curl",
        "curl -u $USER:$PASSWORD x",
        "login --password VALUE",
        "--password must be set",
        "sort -u me:you",
        "API_TOKEN\nQ1w2e3r4t5y6",
        "the token Q1w2e3r4t5y6 of it, a password Q1w2e3r4t5y6",
        "--token --verbose0123456",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

#[test]
fn an_argument_that_holds_a_label_was_read_before() {
    for text in ["curl -u me:!password-1! x", "--password !password-1!x0123456"] {
        assert!(found(text).is_empty(), "{text}");
    }
}

#[test]
fn a_value_is_a_secret_by_the_name_beside_it() {
    for text in [
        "env:\n- name: DB_PASSWORD\n  value: hunter2\n- name: X\n  value: y\n",
        "env: [{name: X, value: y}, {name: 'DB_PASSWORD', value: 'hunter2'}]",
        "name  = \"db_password\"\n type = string\nvalue = \"hunter2\"\n",
        "log {\"key\":\"X-Api-Key\",\"value\":\"hunter2\"} end",
        "setItem(\"token\", \"hunter2hunter2\")",
        "Driver={X};UID=u;PWD={hunter2};",
        "token = SecretStr('hunter2')",
        "db:\n  password: hunter2\n",
        "> Cookie: a=1; b=hunter2\r\n> Accept: */*",
    ] {
        let is_masked = found(text).last().is_some_and(|value| value.ends_with("hunter2"));
        assert!(is_masked, "{text}: {:?}", found(text));
    }
    assert_eq!(found("Set-Cookie: sid=abc; Path=/; HttpOnly\ncookie: a=1; b=2"), ["abc", "1", "2"]);
    for text in [
        "- name: DB_PASSWORD\n  valueFrom:\n    key: pw\n- name: X\n  value: y\n",
        "setItem(\"token\", \"remembered\")",
        "PWD=${PWD}",
        "the cookie: it is sweet",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

/// Asserts that `text` is masked to `expected`, where `@` stands for the label.
fn masks(text: &str, expected: &str) {
    let masked = crate::Redactor::default().text(text).into_inner();
    let label = masked.find('!').zip(masked.rfind('!')).map(|(start, end)| masked[start..=end].to_owned());
    assert_eq!(label.map_or_else(|| masked.clone(), |label| masked.replace(&label, "@")), expected, "{text}");
}

#[test]
fn a_value_is_masked_to_the_end_of_its_longest_reading() {
    for (text, expected) in [
        (r#"<script>S={"password":"Xk9mT2vL\"qB7nR4wZ8","a":1}"#, r#"<script>S={"password":"@","a":1}"#),
        (r"<script>S={'password':'Xk9mT2vL\'qB7nR4wZ8'}", "<script>S={'password':'@'}"),
        ("password: 'Xk9mT2vL''qB7nR4wZ8'\nb: 1", "password: '@'\nb: 1"),
        ("token = '''Xk9mT2vL'qB7nR4wZ8'''\n", "token = '''@'''\n"),
        ("token = \"\"\"Xk9mT2vL\"qB7nR4wZ8\"\"\"\n", "token = \"\"\"@\"\"\"\n"),
        ("password: \"Xk9mT2vL,qB7nR4wZ8", "password: \"@"),
        ("f(password=Xk9mT2vL)qB7nR4wZ8, b=1)", "f(password=@, b=1)"),
        ("{user=me, password=Xk9mT2vL{qB7nR4wZ8}", "{user=me, password=@}"),
        ("https://h/?token=Xk9mT2vL&qB7nR4wZ8&b=1", "https://h/?token=@&b=1"),
        ("Pwd=Xk9mT2vL;qB7nR4wZ8;User=b", "Pwd=@;User=b"),
        ("token=Xk9mT2vL,qB7nR4wZ8,user=b", "token=@,user=b"),
        ("{token:Xk9mT2vL,qB7nR4wZ8,user:b}", "{token:@,user:b}"),
        ("<p>token=Xk9mT2vL<qB7nR4wZ8</p>", "<p>token=@</p>"),
        ("say \"token=Xk9mT2vL'qB7nR4wZ8\", it", "say \"token=@\", it"),
        ("f(token=Xk9mT2vL[qB7nR4wZ8]): it", "f(token=@]): it"),
    ] {
        masks(text, expected);
    }
    for special in "!#$%&()*+,-./:;<=>?@[]^_`{|}~\\'\"".chars() {
        let text = format!("db.user=app\ndb.password=Xk9mT2vL{special}qB7nR4wZ8\nb=1");
        masks(&text, "db.user=app\ndb.password=@\nb=1");
        let text = format!("say password: Xk9mT2vL{special}qB7nR4wZ8 to it");
        masks(&text, "say password: @ to it");
    }
}

#[test]
fn what_stands_for_a_value_is_none() {
    for text in [
        "password=$DB_PASSWORD",
        "token=process.env.TOKEN;",
        "let token = getToken(), a;",
        "password = os.environ['DB_PASSWORD']",
        "password=req.body.password;",
        "password=document.getElementById(id).value",
        "a.password=void 0",
        "h[\"Authorization\"] = \"Bearer \" + token",
        "{token:\"API token\",password:\"Your password?\"}",
        "const token = await getToken()",
        "password: required",
        "say password: hunter2",
        "password=${DB_PASSWORD_2}",
        "token=<your-token-1234>",
        "secret={{ secret_1 }}",
        "f(token=None):",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}
