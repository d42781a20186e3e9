import static org.junit.jupiter.api.Assertions.assertEquals;

import contrail.Contrail;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Contrail.class)
class TenantTest {
    /** An access token of the tenant. */
    private static String token(Contrail.Session contrail) throws IOException, InterruptedException {
        var fields = Map.of(
            "grant_type", "client_credentials",
            "audience", "/api/v2/",
            "client_id", Optional.ofNullable(contrail.env("CONTRAIL_SANDBOX_CLIENT_ID")).orElse("sandbox-full"),
            "client_secret", Optional.ofNullable(contrail.env("CONTRAIL_SANDBOX_CLIENT_SECRET")).orElse("any"));
        var form = fields.entrySet().stream()
            .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), StandardCharsets.UTF_8))
            .collect(Collectors.joining("&"));
        var request = HttpRequest.newBuilder(URI.create(contrail.url() + "/oauth/token/"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(form))
            .build();
        var body = contrail.http().send(request, BodyHandlers.ofString()).body();
        var found = Pattern.compile("\"access_token\": *\"([^\"]+)\"").matcher(body);
        return found.find() ? found.group(1) : body;
    }

    private static int get(Contrail.Session contrail, String origin, String path, String token) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(origin + path)).header("Authorization", "Bearer " + token).build();
        return contrail.http().send(request, BodyHandlers.discarding()).statusCode();
    }

    @RepeatedTest(20)
    void eachSeesWhatWasRecordedForIt(RepetitionInfo repetition, Contrail.Session contrail) throws Exception {
        var token = token(contrail);
        var policy = "/api/v2/rate-limit-policies/rlp_" + repetition.getCurrentRepetition();
        assertEquals(404, get(contrail, contrail.url(), policy, token));
        assertEquals(200, get(contrail, contrail.url(), "/api/v2/connection-profiles/templates", token));
    }

    @Test
    void templatesAreRead(Contrail.Session contrail) throws Exception {
        assertEquals(200, get(contrail, contrail.url(), "/api/v2/connection-profiles/templates", token(contrail)));
    }
}
