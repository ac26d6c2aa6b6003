import java.sql.*;
import java.util.Properties;

/** What programs and tools do over JDBC: they look at tables, prepare, fetch in portions. */
public class Client {
    static final String WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward";

    public static void main(String[] given) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "me");
        properties.setProperty("password", given[1]);
        properties.setProperty("options", "-c discreet.epsilon=0.1");
        try (Connection connection = DriverManager.getConnection(given[0], properties)) {
            DatabaseMetaData about = connection.getMetaData();
            System.out.println(about.getDatabaseProductName() + " " + about.getDatabaseProductVersion());
            count("catalogs", about.getCatalogs());
            count("schemas", about.getSchemas());
            count("tables", about.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}));
            count("columns", about.getColumns(null, "public", "patients", null));
            count("keys", about.getPrimaryKeys(null, "public", "patients"));
            count("indexes", about.getIndexInfo(null, "public", "patients", false, false));
            count("imported", about.getImportedKeys(null, "public", "patients"));
            connection.setReadOnly(true);
            prepared(connection);
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(2);
                count("portions", statement.executeQuery(WARDS));
            }
            connection.commit();
            connection.setAutoCommit(true);
            try (Statement statement = connection.createStatement()) {
                statement.setMaxRows(1);
                count("most", statement.executeQuery(WARDS));
            }
            System.out.println("valid " + connection.isValid(30));
        }
    }

    /** Seven times: after five the driver keeps the statement on the server, and takes values in binary. */
    static void prepared(Connection connection) throws SQLException {
        String text = "SELECT COUNT(*) AS n FROM patients WHERE age > ?";
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            long first = 0;
            boolean same = true;
            for (int time = 0; time < 7; time++) {
                statement.setInt(1, 40);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    first = time == 0 ? rows.getLong(1) : first;
                    same &= first == rows.getLong(1);
                }
            }
            ResultSetMetaData columns = statement.getMetaData();
            System.out.println("parameter " + columns.getColumnTypeName(1) + " " + columns.getColumnCount());
            System.out.println("again " + same);
        }
    }

    static void count(String name, ResultSet rows) throws SQLException {
        int many = 0;
        while (rows.next()) {
            many++;
        }
        System.out.println(name + " " + many);
    }
}
