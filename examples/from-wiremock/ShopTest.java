import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** What were tests with `new WireMockServer()`: without the server, under contrail. Run: java ShopTest.java */
class ShopTest {
    /** Was `http://localhost:8080`, where WireMock listened. */
    static final String SHOP = System.getenv("CONTRAIL_URL");

    static String send(HttpRequest.Builder request) throws Exception {
        return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString()).body();
    }

    static void check(String answer, String part) {
        if (!answer.contains(part)) {
            throw new AssertionError("expected " + part + " in " + answer);
        }
    }

    public static void main(String[] arguments) throws Exception {
        check(send(HttpRequest.newBuilder(URI.create(SHOP + "/items?tag=tea"))), "Sencha");
        HttpRequest.Builder order = HttpRequest.newBuilder(URI.create(SHOP + "/orders"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"item\": \"Assam\"}"));
        check(send(order), "accepted");
    }
}
